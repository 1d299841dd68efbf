package segment

import (
	"cmp"
	"slices"
)

// A Cluster is passes that run the same kernels, but for what is missing of single ones.
type Cluster struct {
	*Profile
	Members int // all
}

// A Piece is what one of the stretches that somebody cut a run into is.
type Piece struct {
	Passes []Pass // by clusters; more than one where the boundaries between them are missing
	Equal  bool   // it runs the columns of its cluster exactly
}

const (
	// likeBag: passes that run the same kernels share this part of the longer one's.
	likeBag = .93
	// partBag: a pass with records missing has this part of its kernels in common with a complete one.
	partBag = .93
	// fewHoles, and one in lossy kernels, is how many stretches of records a damaged pass may lack.
	fewHoles, lossy = 4, 40
	// maxClusters bounds what single passes are compared with.
	maxClusters = 48
	// TimedAlike is of how many passes that run the same the least times are taken: collectives wait.
	TimedAlike = 5
)

// shape is a distinct sequence of names.
type shape struct {
	rows   []Row
	bag    map[int32]int
	pieces []int
}

// Find clusters stretches, each a pass as far as is known, and reads those with records
// missing by the clusters of the others.
func Find(all []Stretch, names Names, ended func() bool) ([]Cluster, []Piece) {
	shapes := shapesOf(all, names)
	slices.SortStableFunc(shapes, func(a, b *shape) int {
		wa, wb := a.weight(), b.weight()
		return cmp.Compare(wb, wa)
	})
	f := &finder{all: all, names: names, pieces: make([]Piece, len(all))}
	for _, s := range shapes {
		if ended() {
			break
		}
		f.place(s)
	}
	return f.clusters, f.pieces
}

// weight orders shapes: those that several passes run lead, then the longest.
func (s *shape) weight() int64 {
	w := int64(len(s.rows))
	if len(s.pieces) > 1 {
		w += 1 << 40
	}
	return w
}

func shapesOf(all []Stretch, names Names) []*shape {
	var out []*shape
	var known Memo[*shape]
	of := make([]*shape, len(all))
	for k, s := range all {
		if s.Like > 0 {
			of[k] = of[s.Like-1]
		} else {
			of[k] = known.Get(NamesOf(s.Rows), func() *shape {
				out = append(out, &shape{rows: s.Rows, bag: bagOf(s.Rows, names)})
				return out[len(out)-1]
			})
		}
		of[k].pieces = append(of[k].pieces, k)
	}
	return out
}

// NamesOf returns the names of rows.
func NamesOf(rows []Row) []int32 {
	ids := make([]int32, len(rows))
	for k := range rows {
		ids[k] = rows[k].Name
	}
	return ids
}

func sameNames(a, b []Row) bool {
	return slices.EqualFunc(a, b, func(x, y Row) bool { return x.Name == y.Name })
}

// bagOf counts names without their tiles: which tile runs may differ from pass to pass.
func bagOf(rows []Row, names Names) map[int32]int {
	bag := map[int32]int{}
	for i := range rows {
		bag[names.Base[rows[i].Name]]++
	}
	return bag
}

// common counts what two bags have in common.
func common(a, b map[int32]int) (n int) {
	for x, k := range a {
		n += min(k, b[x])
	}
	return n
}

type finder struct {
	all      []Stretch
	names    Names
	clusters []Cluster
	bags     []map[int32]int
	pieces   []Piece
}

// place gives the pieces of a shape to a cluster that explains them, or makes one of them.
func (f *finder) place(s *shape) {
	if len(s.rows) == 0 {
		return
	}
	lone := len(s.pieces) == 1
	var near []int
	inSome := false
	for c := range f.clusters {
		both := common(s.bag, f.bags[c])
		n, m := len(s.rows), len(f.clusters[c].Columns)
		if float64(both) >= likeBag*float64(max(n, m)) {
			near = append(near, c)
		} else if lone && float64(both) >= partBag*float64(n) && n < m {
			near = append(near, c)
		}
		inSome = inSome || both > 0
	}
	if len(near) > 0 && f.read(s, near, lone) {
		return
	}
	if lone && inSome && f.glued(s) && f.read(s, f.repeated(), true) {
		return
	}
	f.clusters = append(f.clusters, Cluster{Profile: NewProfile(f.usual(s), f.names), Members: len(s.pieces)})
	f.bags = append(f.bags, s.bag)
	for _, k := range s.pieces {
		f.pieces[k] = Piece{Equal: true, Passes: []Pass{whole(len(f.clusters)-1, len(s.rows))}}
	}
}

// repeated are the clusters that several passes belong to.
func (f *finder) repeated() (out []int) {
	for c := range f.clusters {
		if f.clusters[c].Members > 1 && len(out) < maxClusters {
			out = append(out, c)
		}
	}
	return out
}

// glued says whether a shape may be several passes whose boundary is missing: it is longer than some that others run,
// and has hardly a kernel that they have not.
func (f *finder) glued(s *shape) bool {
	union := map[int32]bool{}
	least := len(s.rows)
	for _, c := range f.repeated() {
		least = min(least, len(f.clusters[c].Columns))
		for x := range f.bags[c] {
			union[x] = true
		}
	}
	known := 0
	for x, k := range s.bag {
		if union[x] {
			known += k
		}
	}
	return least < len(s.rows) && float64(known) >= partBag*float64(len(s.rows))
}

// whole is a pass that runs all columns.
func whole(cluster, n int) Pass {
	p := Pass{Profile: cluster, To: n, Column: make([]int32, n)}
	for j := range p.Column {
		p.Column[j] = int32(j)
	}
	return p
}

// usual returns the rows of a shape with the least of the times of some of its passes.
func (f *finder) usual(s *shape) []Row {
	rows := slices.Clone(s.rows)
	for _, k := range s.pieces[:min(TimedAlike, len(s.pieces))] {
		for j, r := range f.all[k].Rows {
			rows[j].Time = min(rows[j].Time, r.Time)
		}
	}
	return rows
}

// read reads the pieces of a shape by some clusters; it reports false where they do not explain it.
func (f *finder) read(s *shape, by []int, lone bool) bool {
	profiles := make([]*Profile, len(by))
	for k, c := range by {
		profiles[k] = f.clusters[c].Profile
	}
	r := Decode(f.all[s.pieces[0]], profiles)
	r.join()
	if !f.explains(&r, s, by, lone) {
		return false
	}
	for p := range r.Passes {
		if q := &r.Passes[p]; q.Profile != Outside {
			q.Profile = by[q.Profile]
		}
	}
	for _, k := range s.pieces {
		f.pieces[k].Passes = r.Passes
	}
	for _, p := range r.Passes {
		if p.Profile != Outside {
			f.clusters[p.Profile].Members += len(s.pieces)
		}
	}
	return true
}

// explains says whether a reading is one of passes, some of whose records are missing: nearly all kernels have their
// place, and where columns are missing there was time for them. What several passes run is no damage.
func (f *finder) explains(r *Reading, s *shape, by []int, lone bool) bool {
	matched, noTime, missing, holes, columns := 0, 0, 0, 0, 0
	for k := range r.Passes {
		p := &r.Passes[k]
		matched += p.Matched()
		noTime += p.NoTime
		if p.Profile != Outside && p.Cut == (Cuts{}) {
			columns += len(f.clusters[by[p.Profile]].Columns)
		}
		holes += len(p.Missing)
		for _, g := range p.Missing {
			missing += g.To - g.From
		}
	}
	if missing > columns/2 && matched < len(s.rows) {
		return false // more is missing than is there, and it is another pass
	}
	if holes > fewHoles+len(s.rows)/lossy {
		return false // what each layer lacks is no damage: another path
	}
	if len(r.Passes) == 0 || float64(matched) < ReadClose*float64(len(s.rows)) || noTime > 0 {
		return false
	}
	return lone || len(r.Passes) == 1 && missing <= len(s.rows)/50+fewDropped
}
