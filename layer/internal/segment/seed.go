package segment

import (
	"cmp"
	"slices"
)

// A Cluster is passes that run the same kernels, but for what is missing of single ones.
type Cluster struct {
	*Profile
	Members int           // all
	From    []Source      // of its columns, where no pass runs all of them
	bag     map[int32]int // its names
}

// A Piece is what one of the stretches that somebody cut a run into is.
type Piece struct {
	Passes []Pass // by clusters; more than one where the boundaries between them are missing
	Equal  bool   // it runs the columns of its cluster exactly
}

const (
	// alikeBags: a pass with records missing has this part of its kernels in common with a complete one.
	alikeBags = .93
	// fewHoles, and one in torn kernels, is how many stretches of records a damaged pass may lack, and with single ones
	// one in lossy; so many may the pass lack that it is read by.
	fewHoles, torn, lossy = 4, 40, 20
	// maxClusters bounds what single passes are compared with.
	maxClusters = 48
	// TimedAlike is of how many passes that run the same the least times are taken: collectives wait.
	TimedAlike = 5
)

// shape is a distinct sequence of names.
type shape struct {
	Stretch
	bag    map[int32]int
	pieces []int
}

// Find clusters stretches, each a pass as far as is known, and reads those with records
// missing by the clusters of the others.
func Find(all []Stretch, ended func() bool) ([]Cluster, []Piece) {
	shapes := shapesOf(all)
	slices.SortStableFunc(shapes, func(a, b *shape) int {
		wa, wb := a.weight(), b.weight()
		return cmp.Compare(wb, wa)
	})
	f := &finder{all: all, pieces: make([]Piece, len(all))}
	for _, s := range shapes {
		if ended() {
			break
		}
		f.place(s)
	}
	f.agree()
	return f.clusters, f.pieces
}

// weight orders shapes: those that several passes run lead, then the longest.
func (s *shape) weight() int64 {
	w := int64(s.Len())
	if len(s.pieces) > 1 {
		w += 1 << 40
	}
	return w
}

func shapesOf(all []Stretch) []*shape {
	var out []*shape
	var known Memo[*shape]
	for k, s := range all {
		o := known.Get(s.ID, func() *shape {
			out = append(out, &shape{Stretch: s, bag: BagOf(s.Base)})
			return out[len(out)-1]
		})
		o.pieces = append(o.pieces, k)
	}
	return out
}

// BagOf counts names without their tiles: which tile runs may differ from pass to pass.
func BagOf(base []int32) map[int32]int {
	bag := map[int32]int{}
	for _, x := range base {
		bag[x]++
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
	clusters []Cluster
	pieces   []Piece
}

// place gives the pieces of a shape to a cluster that explains them, or makes one of them.
func (f *finder) place(s *shape) {
	if s.Len() == 0 {
		return
	}
	if len(s.pieces) == 1 { // what several passes run is no damage
		var near []int
		for c := range f.clusters {
			if AtLeast(common(s.bag, f.clusters[c].bag), alikeBags, s.Len()) {
				near = append(near, c)
			}
		}
		if len(near) > 0 && f.read(s, near, true) || f.glued(s) && f.read(s, f.repeated(), false) {
			return
		}
	}
	f.clusters = append(f.clusters, Cluster{Profile: newProfile(f.usual(s)), Members: len(s.pieces), bag: s.bag})
	for _, k := range s.pieces {
		f.pieces[k] = Piece{Equal: true, Passes: []Pass{whole(len(f.clusters)-1, s.Len())}}
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
	least := s.Len()
	for _, c := range f.repeated() {
		least = min(least, f.clusters[c].Len())
		for x := range f.clusters[c].bag {
			union[x] = true
		}
	}
	known := 0
	for x, k := range s.bag {
		if union[x] {
			known += k
		}
	}
	return least < s.Len() && AtLeast(known, alikeBags, s.Len())
}

// whole is a pass that runs all columns.
func whole(cluster, n int) Pass {
	p := Pass{Profile: cluster, To: n, Column: make([]int32, n)}
	for j := range p.Column {
		p.Column[j] = int32(j)
	}
	return p
}

// usual returns the kernels of a shape with the least of the times of some of its passes.
func (f *finder) usual(s *shape) Stretch {
	out := s.Stretch
	out.Time = slices.Clone(out.Time)
	for _, k := range s.pieces[:min(TimedAlike, len(s.pieces))] {
		for j, t := range f.all[k].Time {
			out.Time[j] = min(out.Time[j], t)
		}
	}
	return out
}

// Rebound moves bounds of s between two pieces to where both, read together, are passes of the clusters: records are
// missing around the place where one ends and the next begins, and so it was seen elsewhere.
func Rebound(s Stretch, bounds []int, clusters []Cluster, pieces []Piece) []int {
	f := &finder{clusters: clusters}
	repeated := f.repeated()
	out := append(append([]int{0}, bounds...), s.Len())
	for k := range bounds {
		known := f.known(&pieces[k]) + f.known(&pieces[k+1])
		if known == out[k+2]-out[k] {
			continue
		}
		both := shapesOf([]Stretch{s.part(out[k], out[k+2])})[0]
		if !f.glued(both) {
			continue
		}
		if p := f.explain(both, repeated, false); len(p) == 2 && p[0].Matched()+p[1].Matched() > known {
			out[k+1] = out[k] + p[1].From
		}
	}
	return out[1 : len(out)-1]
}

// known counts the kernels of a piece that are columns of a cluster; one that no other piece is like says nothing.
func (f *finder) known(piece *Piece) (n int) {
	for k := range piece.Passes {
		if p := &piece.Passes[k]; !piece.Equal || f.clusters[p.Profile].Members > 1 {
			n += p.Matched()
		}
	}
	return n
}

// read reads the piece of a shape by some clusters; it reports false where they do not explain it.
func (f *finder) read(s *shape, by []int, timely bool) bool {
	passes := f.explain(s, by, timely)
	for _, p := range passes {
		if p.Profile != Outside {
			f.clusters[p.Profile].Members++
		}
	}
	f.pieces[s.pieces[0]].Passes = passes
	return len(passes) > 0
}

// explain reads a shape by some clusters, and returns nil where they do not explain it.
func (f *finder) explain(s *shape, by []int, timely bool) []Pass {
	profiles := make([]*Profile, len(by))
	for k, c := range by {
		profiles[k] = f.clusters[c].Profile
	}
	r := decode(s.Stretch, profiles, mostOf(s.Len()), timely)
	r.join()
	if !s.isReadBy(&r) {
		return nil
	}
	for p := range r.Passes {
		if q := &r.Passes[p]; q.Profile != Outside {
			q.Profile = by[q.Profile]
		}
	}
	return r.Passes
}

// isReadBy says whether a reading is one of passes, some of whose records are missing: nearly all kernels have their
// place, few columns are missing, and where they are there was time for them. What each layer lacks is no damage, but
// another path.
func (s *shape) isReadBy(r *passReading) bool {
	matched, noTime, stretches, holes := 0, 0, 0, 0
	for k := range r.Passes {
		p := &r.Passes[k]
		matched, noTime, holes = matched+p.Matched(), noTime+p.NoTime, holes+len(p.Missing)
		for _, g := range p.Missing {
			stretches += min(1, g.To-g.From-1)
		}
	}
	few := fewHoles + s.Len()/lossy
	return len(r.Passes) > 0 && noTime == 0 && stretches <= fewHoles+s.Len()/torn && holes <= few &&
		s.Len()-matched <= few && AtLeast(matched, ReadClose, s.Len())
}
