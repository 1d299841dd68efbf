package segment

import (
	"fmt"
	"strings"
	"testing"
)

// stretchOfLetters has a kernel for each letter: e looks up an embedding, w works, s samples. The GPU rests before those
// in upper case.
func stretchOfLetters(letters string) (Stretch, []Mark) {
	s, marks := Stretch{Sequence: &Sequence{}}, make([]Mark, len(letters))
	for i, r := range strings.ToLower(letters) {
		s.Base, s.ID, s.Role = append(s.Base, r), append(s.ID, r), append(s.Role, 0)
		s.Gap, s.Time = append(s.Gap, 1), append(s.Time, 1)
		if letters[i] != byte(r) {
			s.Gap[i] = 100
		}
		marks[i] = map[rune]Mark{'e': Begins, 'w': Works, 's': Samples}[r]
	}
	return s, marks
}

// TestBoundsBeforePrologues: what the window begins with before its first embedding begins the other passes, too; a
// window that begins within a pass says nothing of that.
func TestBoundsBeforePrologues(t *testing.T) {
	const works = "wxwxwxwxwx"
	for name, c := range map[string]struct{ letters, want string }{
		"a prologue":                  {strings.Repeat("abce"+works, 3), "[14 28]"},
		"a rest within it":            {"abce" + works + "abCe" + works + "abce" + works, "[14 28]"},
		"a rest before it":            {"abce" + works + "xYabce" + works, "[15]"},
		"another one":                 {"abce" + works + "yyce" + works, "[16]"},
		"the window begins in a pass": {"wxwxwxwxxabce" + works + "xxabce" + works, "[12 28]"},
		"two lookups behind what another pass ends with": {"wexxxxxxxxe" + works + "e" + works, "[21]"},
		"the window begins at a lookup":                  {"e" + works + "abce" + works, "[14]"},
	} {
		s, marks := stretchOfLetters(c.letters)
		if got := fmt.Sprint(Bounds(s, marks)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestHiddenBetweenPassesThatDiffer: a stretch that runs the kernels of another one twice is two passes, which need not
// be equal: it is divided where the GPU rests longest, if that is between them.
func TestHiddenBetweenPassesThatDiffer(t *testing.T) {
	works := strings.Repeat("wxyz", 20)
	one := "e" + works + "s"
	for name, c := range map[string]struct{ letters, want string }{
		"another order within it":  {"e" + works + "xws" + "E" + works + "s", "[[] [84]]"},
		"records between are lost": {"e" + works + "Wx" + works + "s", "[[] [81]]"},
		"a rest within a pass":     {"e" + works[:40] + "W" + works[41:] + "se" + works + "s", "[[] []]"},
		"no more than one":         {"e" + works + "Wx", "[[] []]"},
		"as many others":           {"e" + works + "s" + "E" + strings.Repeat("abcd", 20) + "s", "[[] []]"},
	} {
		a, _ := stretchOfLetters(one)
		b, _ := stretchOfLetters(c.letters)
		if got := fmt.Sprint(Hidden([]Stretch{a, b})); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

// TestTwice: the kernels of one of the others, twice, with less than a tenth of them missing or foreign.
func TestTwice(t *testing.T) {
	of := func(letters string) *Sequence { s, _ := stretchOfLetters(letters); return s.Sequence }
	one, other := of("ewxyzwxyzs"), of("wxyz")
	for letters, want := range map[string]bool{
		"ewxyzwxyzsewxyzwxyzs": true, "ewxyzwxyzwxyzwxyzss": true, "ewxyzwxyzwxyzwxyzs": false, "ewxyzwxyzs": false,
		"wxyzzyxw": true, "wxyzabcd": false, "ewxyzwxyzsewxyzwxyz": true, "ewxyzwxyzsewxyzwxyza": false,
	} {
		s := of(letters)
		if _, got := Twice(s, []*Sequence{one, other, s}); got != want {
			t.Errorf("%s: %v, want %v", letters, got, want)
		}
		if _, got := Twice(s, []*Sequence{one, other, s, of(letters)}); got {
			t.Errorf("%s: true where another one runs the same", letters)
		}
	}
}

// TestReboundOverHoles: records are lost around the place where a pass ends and another one begins, and the bound was
// seen later than that. Where it is right, or what is around it is no pass of the others, it stays.
func TestReboundOverHoles(t *testing.T) {
	one, two := timed(10, 12), timed(24, 9)
	for j := range two.ID {
		two.ID[j] += 200 // no kernel of the other model
	}
	two.Base = two.ID
	n := one.Len()
	for name, c := range map[string]struct {
		at         int // the boundary
		lost, late int // kernels around it that are lost, and how far behind the rest the bound is
		strange    bool
	}{
		"a hole":                {4, 20, 7, false},
		"a hole, and the bound": {4, 20, 0, false},
		"no hole":               {4, 0, 7, false},
		"a pass of its own":     {4, 20, 7, true},
		"behind the first pass": {0, 20, 7, false},
		"before the last pass":  {6, 20, 7, false},
	} {
		run := Stretch{Sequence: &Sequence{}}
		var bounds []int
		idle, want := Span(0), 0
		for k := range 8 {
			if k > 0 {
				bounds = append(bounds, run.Len())
			}
			of := []Stretch{one, two}[k%2]
			for j, id := range of.ID {
				if k == c.at && j >= n-c.lost*3/4 || k == c.at+1 && j < c.lost/4 {
					idle += of.Time[j] + of.Gap[j]
					continue
				}
				if c.strange && k == c.at+1 {
					id += int32(j % 50)
				}
				run.add(id, 0)
				run.Time, run.Gap = append(run.Time, of.Time[j]), append(run.Gap, of.Gap[j]+idle)
				idle = 0
			}
		}
		want = bounds[c.at]
		bounds[c.at] += c.late
		if c.strange {
			want = bounds[c.at]
		}
		never := func() bool { return false }
		clusters, pieces := Find(run.Parts(bounds), never)
		if got := Rebound(run, bounds, clusters, pieces); got[c.at] != want || len(got) != 7 || got[3] != bounds[3] {
			t.Errorf("%s: bounds %v instead of %v, that one is at %d", name, got, bounds, want)
		}
	}
}
