package segment

import (
	"math"
	"math/rand"
	"slices"
	"testing"
)

// timed is a pass of n layers of equal kernels: a prologue, layers, an epilogue.
func timed(n, unit int) Stretch {
	s := Stretch{Sequence: &Sequence{}}
	add := func(id int32) {
		s.add(id, 0)
		s.Time, s.Gap = append(s.Time, 4000), append(s.Gap, 1000)
	}
	add(100)
	add(101)
	for range n {
		for k := range unit {
			add(int32(k))
		}
	}
	add(102)
	add(103)
	return s
}

// TestDropsKeepColumns: where single records of the pass and of its profile are lost, the others keep their columns.
func TestDropsKeepColumns(t *testing.T) {
	for seed := range int64(40) {
		r := rand.New(rand.NewSource(seed))
		full := timed(30+r.Intn(60), 8+r.Intn(10))
		of := func() (s Stretch, at []int) {
			s.Sequence = &Sequence{}
			idle := Span(0)
			for j, id := range full.ID {
				if r.Float64() < .01 {
					idle += full.Time[j] + full.Gap[j]
					continue
				}
				s.add(id, 0)
				s.Time, s.Gap, at = append(s.Time, full.Time[j]), append(s.Gap, full.Gap[j]+idle), append(at, j)
				idle = 0
			}
			return s, at
		}
		profile, was := of()
		lossy, at := of()
		read := decode(lossy, []*Profile{newProfile(profile)}, math.Inf(1), false)
		if len(read.Passes) != 1 {
			t.Fatalf("seed %d: %d passes", seed, len(read.Passes))
		}
		wrong := 0
		for i, j := range read.Passes[0].Column {
			if j != NoColumn && was[j] != at[i] {
				wrong++
			}
		}
		if wrong > lossy.Len()/100 {
			t.Errorf("seed %d: %d of %d kernels at another column, missing %v", seed, wrong, lossy.Len(),
				read.Passes[0].Missing)
		}
	}
}

// TestHolesWhereTheHostIsSlow: where the GPU idles long before every kernel, any gap holds a stretch of records. A hole
// of whole layers, which leaves all kernels as they were, is where the GPU idles as long as it takes.
func TestHolesWhereTheHostIsSlow(t *testing.T) {
	for seed := range int64(60) {
		r := rand.New(rand.NewSource(seed))
		unit := 8 + r.Intn(10)
		full := timed(4+r.Intn(60), unit)
		jittered := func() Stretch {
			s := full
			s.Gap = make([]Span, s.Len())
			for j := range s.Gap {
				s.Gap[j] = Span(30000 + r.Intn(40000))
			}
			return s
		}
		profile, s := jittered(), jittered()
		lost := unit * (1 + r.Intn(2))
		from := 2 + r.Intn(s.Len()-4-lost)
		for j := from; j < from+lost; j++ {
			s.Gap[from+lost] += s.Time[j] + s.Gap[j]
		}
		s.Sequence = &Sequence{slices.Concat(s.ID[:from], s.ID[from+lost:]),
			slices.Concat(s.Base[:from], s.Base[from+lost:]), slices.Concat(s.Role[:from], s.Role[from+lost:])}
		s.Time, s.Gap = s.Time[:s.Len()], slices.Delete(s.Gap, from, from+lost)
		read := decode(s, []*Profile{newProfile(profile)}, math.Inf(1), false)
		if len(read.Passes) != 1 || len(read.Passes[0].Missing) != 1 || read.Passes[0].Missing[0].From != from {
			t.Errorf("seed %d: %d records lost before column %d, read as %+v", seed, lost, from, read)
		}
	}
}
