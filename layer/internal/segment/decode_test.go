package segment

import (
	"math/rand"
	"slices"
	"testing"
)

// letters are names that have nothing in common.
var letters = func() Names {
	n := Names{Role: make([]Role, 200)}
	for x := range int32(200) {
		n.Base = append(n.Base, x)
	}
	return n
}()

// rowsOf is a pass of n layers of equal kernels: a prologue, layers, an epilogue.
func rowsOf(n, unit int) []Row {
	rows := []Row{{Name: 100}, {Name: 101}}
	for range n {
		for k := range unit {
			rows = append(rows, Row{Name: int32(k)})
		}
	}
	rows = append(rows, Row{Name: 102}, Row{Name: 103})
	for j := range rows {
		rows[j].Time, rows[j].Gap = 4000, 1000
	}
	return rows
}

// TestDropsKeepColumns: where single records of the pass and of its profile are lost, the others keep their columns.
func TestDropsKeepColumns(t *testing.T) {
	for seed := range int64(40) {
		r := rand.New(rand.NewSource(seed))
		full := rowsOf(30+r.Intn(60), 8+r.Intn(10))
		of := func() (rows []Row, at []int) {
			idle := Span(0)
			for j, x := range full {
				if r.Float64() < .01 {
					idle += x.Time + x.Gap
					continue
				}
				x.Gap += idle
				idle = 0
				rows, at = append(rows, x), append(at, j)
			}
			return rows, at
		}
		profile, was := of()
		rows, at := of()
		read := Decode(Stretch{Rows: rows}, []*Profile{NewProfile(profile, letters)})
		if len(read.Passes) != 1 {
			t.Fatalf("seed %d: %d passes", seed, len(read.Passes))
		}
		wrong := 0
		for i, j := range read.Passes[0].Column {
			if j != NoColumn && was[j] != at[i] {
				wrong++
			}
		}
		if wrong > len(rows)/100 {
			t.Errorf("seed %d: %d of %d kernels at another column, missing %v", seed, wrong, len(rows),
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
		full := rowsOf(4+r.Intn(60), unit)
		jittered := func() []Row {
			rows := slices.Clone(full)
			for j := range rows {
				rows[j].Gap = Span(30000 + r.Intn(40000))
			}
			return rows
		}
		profile, rows := jittered(), jittered()
		lost := unit * (1 + r.Intn(2))
		from := 2 + r.Intn(len(rows)-4-lost)
		for _, x := range rows[from : from+lost] {
			rows[from+lost].Gap += x.Time + x.Gap
		}
		rows = slices.Delete(rows, from, from+lost)
		read := Decode(Stretch{Rows: rows}, []*Profile{NewProfile(profile, letters)})
		if len(read.Passes) != 1 || len(read.Passes[0].Missing) != 1 || read.Passes[0].Missing[0].From != from {
			t.Errorf("seed %d: %d records lost before column %d, read as %+v", seed, lost, from, read)
		}
	}
}
