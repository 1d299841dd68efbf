package segment

import "slices"

// Passes of one kind that all lack records, each others, say together what each of them ran: what most of them run
// between two kernels of the pass that they are read by, while the GPU idles there in that one, was lost from it.

// A Source is the kernel of a piece that a column of a cluster is taken from.
type Source struct{ Piece, Kernel int }

// An insertion is kernels that the columns of a cluster lack before one of them.
type insertion struct {
	before int // column
	run    []Source
}

// agree makes the clusters that are one pass what most of the passes that are read by it run.
func (f *finder) agree() {
	lead := map[int]int{} // piece that a cluster is, by cluster; of those that several pieces are, none
	for p := range f.pieces {
		if q := &f.pieces[p]; q.Equal {
			c := q.Passes[0].Profile
			if _, several := lead[c]; several {
				p = NoColumn
			}
			lead[c] = p
		}
	}
	for c := range f.clusters {
		if p, ok := lead[c]; ok && p != NoColumn && f.clusters[c].Members > 1 {
			f.settle(c, p)
		}
	}
}

// lost finds what the pass that cluster c is has lost: what two passes or more, and half of them, run at a place in the
// same order, if the idle time there can hold it.
func (f *finder) lost(c int) (out []insertion) {
	type key struct {
		before int
		names  uint64
	}
	type candidate struct {
		insertion
		passes int
	}
	p := f.clusters[c].Profile
	found, best := map[key]*candidate{}, make([]*candidate, p.Len())
	for k := range f.pieces {
		for _, pass := range f.pieces[k].Passes {
			if pass.Profile != c {
				continue
			}
			between(pass.Column, func(before, from, to int) {
				at := key{before, Hash(f.all[k].Base[pass.From+from : pass.From+to])}
				x := found[at]
				if x == nil {
					x = &candidate{insertion: insertion{before: before}}
					for i := from; i < to; i++ {
						x.run = append(x.run, Source{k, pass.From + i})
					}
					found[at] = x
				}
				if x.passes++; best[before] == nil || x.passes > best[before].passes {
					best[before] = x
				}
			})
		}
	}
	for before, x := range best {
		if x != nil && x.passes > 1 && 2*x.passes >= f.clusters[c].Members && f.takes(x.run) <= p.idle(before)+slack {
			out = append(out, x.insertion)
		}
	}
	return out
}

// takes is the least time of kernels.
func (f *finder) takes(run []Source) (ns int64) {
	for _, x := range run {
		ns += int64(f.all[x.Piece].Time[x.Kernel]) / leastTime
	}
	return ns
}

// between calls do for each run [from, to) of kernels of a pass that are no columns and lie between two that are, with
// the column before which they ran: that of the kernel after them.
func between(column []int32, do func(before, from, to int)) {
	last := NoColumn // kernel that is a column
	for k, c := range column {
		if c == NoColumn {
			continue
		}
		if last != NoColumn && last < k-1 {
			do(int(c), last+1, k)
		}
		last = k
	}
}

// settle puts kernels into the columns of cluster c, which piece lead is, takes out what most passes do not run there,
// and reads again what is read by it.
func (f *finder) settle(c, lead int) {
	old, add := &f.clusters[c], f.lost(c)
	lacks := make([]int, old.Len()) // passes
	for k := range f.pieces {
		for _, pass := range f.pieces[k].Passes {
			for _, g := range pass.Missing {
				for j := g.From; j < g.To && pass.Profile == c; j++ {
					lacks[j]++
				}
			}
		}
	}
	mostLack := func(passes int) bool { return 2*passes > old.Members }
	if len(add) == 0 && !slices.ContainsFunc(lacks, mostLack) {
		return
	}
	var from []Source
	moved := make([]int32, old.Len()) // old columns
	added := map[int][2]int{}         // the new columns before an old one
	s := Stretch{Sequence: &Sequence{}, After: old.After, Open: old.Open}
	put := func(x Source, time, gap Span) {
		of := f.all[x.Piece].Sequence
		s.ID, s.Base = append(s.ID, of.ID[x.Kernel]), append(s.Base, of.Base[x.Kernel])
		s.Role, from = append(s.Role, of.Role[x.Kernel]), append(from, x)
		s.Time, s.Gap = append(s.Time, time), append(s.Gap, gap)
	}
	for j := range old.Len() {
		gap := old.Gap[j]
		if len(add) > 0 && add[0].before == j {
			run := add[0].run
			add, added[j] = add[1:], [2]int{len(from), len(from) + len(run)}
			for _, x := range run {
				put(x, f.all[x.Piece].Time[x.Kernel], f.all[x.Piece].Gap[x.Kernel])
			}
			last := run[len(run)-1]
			gap = f.all[last.Piece].Gap[last.Kernel+1] // that of the column holds what was lost
		}
		if moved[j] = NoColumn; !mostLack(lacks[j]) {
			moved[j] = int32(len(from))
			put(Source{lead, j}, old.Time[j], gap)
		}
	}
	f.pieces[lead].Equal = false
	old.Profile, old.bag, old.From = newProfile(s), BagOf(s.Base), from
	for k := range f.pieces {
		for q := range f.pieces[k].Passes {
			if pass := &f.pieces[k].Passes[q]; pass.Profile == c {
				pass.reread(&f.all[k], old.Profile, moved, added)
			}
		}
	}
}

// reread moves the columns of a pass of s to where they are in a profile to which others were added before some. What
// it lacks of these is missing if the GPU idled there.
func (p *Pass) reread(s *Stretch, by *Profile, moved []int32, added map[int][2]int) {
	names := s.Base[p.From:p.To]
	column := slices.Repeat([]int32{NoColumn}, len(p.Column))
	between(p.Column, func(before, from, to int) {
		if x, ok := added[before]; ok && slices.Equal(names[from:to], by.Base[x[0]:x[1]]) {
			for k := from; k < to; k++ {
				column[k] = int32(x[0] + k - from)
			}
		}
	})
	for k, j := range p.Column {
		if j != NoColumn {
			column[k] = moved[j]
		}
	}
	missed := map[int]bool{} // before these kernels
	for _, g := range p.Missing {
		missed[g.Before] = true
	}
	p.Column, p.Missing = column, nil
	want := 0
	miss := func(to, before int) {
		if want < to && (missed[before] || by.takes(want, to) <= s.idle(before)+slack) {
			p.Missing = append(p.Missing, Gap{From: want, To: to, Before: before})
		}
	}
	for k, j := range column {
		if j != NoColumn {
			if want > 0 || !p.Cut.Start {
				miss(int(j), p.From+k)
			}
			want = int(j) + 1
		}
	}
	if !p.Cut.End {
		miss(by.Len(), p.To)
	}
}
