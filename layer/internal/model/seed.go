package model

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"slices"
)

// A Cluster is passes that run the same kernels, but for what is missing of single ones.
type Cluster struct {
	*Profile
	Whole   int // passes that run exactly its columns
	Members int // all
}

// A Piece is what one of the stretches that somebody cut a run into is.
type Piece struct {
	Passes  []Pass // by clusters; more than one where the boundaries between them are missing
	Cluster int    // of the only pass
	Equal   bool   // it runs the columns of its cluster exactly
}

const (
	// likeBag: passes that run the same kernels share this part of the longer one's.
	likeBag = .93
	// partBag: a pass of which records are missing has this part of its kernels in common with a whole one.
	partBag = .93
	// readable is the part of the kernels of a damaged pass that must be columns of its cluster's.
	readable = .9
	// fewHoles, and one in lossy kernels, is how many stretches of records a damaged pass may lack.
	fewHoles, lossy = 4, 40
	// maxClusters bounds what single passes are compared with.
	maxClusters = 48
	// rounds is how often columns are voted for.
	rounds = 2
	// TimedAlike is of how many passes that run the same the least times are taken: collectives wait.
	TimedAlike = 5
)

// shape is a distinct sequence of names.
type shape struct {
	rows   []Row
	bag    map[int32]int
	pieces []int
}

// Find clusters stretches, each of which is a pass as far as anybody knows, and reads those of which records are missing by the clusters of the others.
func Find(all []Stretch, names *Names, ended func() bool) ([]Cluster, []Piece) {
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
	for range rounds {
		if ended() || !f.vote() {
			break
		}
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

func shapesOf(all []Stretch, names *Names) []*shape {
	var out []*shape
	index := map[uint64][]*shape{}
	of := make([]*shape, len(all))
	for k, s := range all {
		if s.Like > 0 {
			of[k] = of[s.Like-1]
			of[k].pieces = append(of[k].pieces, k)
			continue
		}
		h := fnv.New64a()
		var b [4]byte
		for _, r := range s.Rows {
			binary.LittleEndian.PutUint32(b[:], uint32(r.Name))
			h.Write(b[:])
		}
		key := h.Sum64()
		at := slices.IndexFunc(index[key], func(o *shape) bool { return sameNames(o.rows, s.Rows) })
		if at >= 0 {
			o := index[key][at]
			o.pieces = append(o.pieces, k)
			of[k] = o
			continue
		}
		o := &shape{rows: s.Rows, bag: bagOf(s.Rows, names), pieces: []int{k}}
		of[k] = o
		index[key] = append(index[key], o)
		out = append(out, o)
	}
	return out
}

func sameNames(a, b []Row) bool {
	return slices.EqualFunc(a, b, func(x, y Row) bool { return x.Name == y.Name })
}

// bagOf counts names without their tiles: which tile runs may differ from pass to pass.
func bagOf(rows []Row, names *Names) map[int32]int {
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
	names    *Names
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
	f.clusters = append(f.clusters, Cluster{Profile: NewProfile(f.usual(s), f.names), Whole: len(s.pieces), Members: len(s.pieces)})
	f.bags = append(f.bags, s.bag)
	for _, k := range s.pieces {
		f.pieces[k] = Piece{Cluster: len(f.clusters) - 1, Equal: true, Passes: []Pass{whole(len(f.clusters)-1, len(s.rows))}}
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

// glued says whether a shape may be several passes whose boundary is missing: it is longer than some that others run, and has hardly a kernel that they have not.
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

// rowsOf are the kernels of a piece, or of one that runs the same.
func (f *finder) rowsOf(k int) []Row {
	if s := &f.all[k]; s.Rows == nil && s.Like > 0 {
		return f.rowsOf(s.Like - 1)
	}
	return f.all[k].Rows
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
		f.pieces[k] = Piece{Passes: r.Passes, Cluster: Outside}
		if len(r.Passes) == 1 {
			f.pieces[k].Cluster = r.Passes[0].Profile
		}
	}
	for _, p := range r.Passes {
		if p.Profile != Outside {
			f.clusters[p.Profile].Members += len(s.pieces)
		}
	}
	return true
}

// explains says whether a reading is one of passes, some of whose records are missing: nearly all kernels have their place, and where columns are missing
// there was time for them. What several passes run is no damage.
func (f *finder) explains(r *Reading, s *shape, by []int, lone bool) bool {
	matched, noTime, missing, holes, columns := 0, 0, 0, 0, 0
	for k := range r.Passes {
		p := &r.Passes[k]
		matched += p.Matched()
		noTime += p.NoTime
		if p.Profile != Outside && p.Cut == (Ends{}) {
			columns += len(f.clusters[by[p.Profile]].Columns)
		}
		holes += len(p.Missing)
		for _, g := range p.Missing {
			missing += g.To - g.From
		}
	}
	if missing > columns/2 {
		return false // more is missing than is there
	}
	if holes > fewHoles+len(s.rows)/lossy {
		return false // what each layer lacks is no damage: another path
	}
	if len(r.Passes) == 0 || float64(matched) < readable*float64(len(s.rows)) || noTime > 0 {
		return false
	}
	return lone || len(r.Passes) == 1 && missing <= len(s.rows)/50+fewDropped
}

// vote lets the passes of each cluster that has no two equal ones say which columns it has, and reads what rests on it again. It reports whether a column
// was added or dropped.
func (f *finder) vote() bool {
	changed := make([]bool, len(f.clusters))
	for c := range f.clusters {
		changed[c] = f.clusters[c].Whole < 2 && f.clusters[c].Members > 2 && f.voteOf(c)
	}
	if !slices.Contains(changed, true) {
		return false
	}
	for k := range f.pieces {
		if slices.ContainsFunc(f.pieces[k].Passes, func(p Pass) bool { return p.Profile != Outside && changed[p.Profile] }) {
			f.again(k)
		}
	}
	return true
}

// again reads a piece by the clusters that it was read by.
func (f *finder) again(k int) {
	var by []int
	for _, p := range f.pieces[k].Passes {
		if p.Profile != Outside && !slices.Contains(by, p.Profile) {
			by = append(by, p.Profile)
		}
	}
	profiles := make([]*Profile, len(by))
	for i, c := range by {
		profiles[i] = f.clusters[c].Profile
	}
	s := f.all[k]
	s.Rows = f.rowsOf(k)
	r := Decode(s, profiles)
	r.join()
	for p := range r.Passes {
		if q := &r.Passes[p]; q.Profile != Outside {
			q.Profile = by[q.Profile]
		}
	}
	f.pieces[k] = Piece{Passes: r.Passes, Cluster: Outside}
	if len(r.Passes) == 1 {
		c := r.Passes[0].Profile
		f.pieces[k].Cluster = c
		if c != Outside && sameNames(s.Rows, f.clusters[c].Columns) {
			f.pieces[k].Equal = true
			f.clusters[c].Whole++
		}
	}
}

// foreignRow is where a kernel stands that a cluster lacks: how many behind which column, and its name.
type foreignRow struct{ behind, nth, name int32 }

func (f *finder) voteOf(c int) bool {
	p := f.clusters[c].Profile
	hits := make([]int, len(p.Columns))
	extra, sample := map[foreignRow]int{}, map[foreignRow]Row{}
	var members []int
	for k := range f.pieces {
		if f.pieces[k].Cluster != c || f.pieces[k].Passes[0].Cut != (Ends{}) {
			continue
		}
		members = append(members, k)
		at := foreignRow{behind: -1}
		for i, j := range f.pieces[k].Passes[0].Column {
			if j != Foreign {
				hits[j]++
				at = foreignRow{behind: j}
				continue
			}
			r := f.rowsOf(k)[i]
			at.name = r.Name
			extra[at]++
			sample[at] = r
			at.nth++
		}
	}
	if len(members) < 3 {
		return false
	}
	var rows []Row
	changed := false
	at := map[int32][]foreignRow{}
	for x := range extra {
		at[x.behind] = append(at[x.behind], x)
	}
	add := func(behind int32) {
		for nth := int32(0); ; nth++ {
			best, most := foreignRow{}, 0
			for _, x := range at[behind] {
				if n := extra[x]; x.nth == nth && (n > most || n == most && x.name < best.name) {
					best, most = x, n
				}
			}
			if 2*most <= len(members) {
				return
			}
			rows, changed = append(rows, sample[best]), true
		}
	}
	add(-1)
	for j := range p.Columns {
		if 2*hits[j] > len(members) {
			rows = append(rows, p.Columns[j])
		} else {
			changed = true
		}
		add(int32(j))
	}
	if !changed {
		return false
	}
	f.clusters[c].Profile = NewProfile(rows, f.names)
	f.bags[c] = bagOf(rows, f.names)
	f.clusters[c].Whole = 0
	return true
}
