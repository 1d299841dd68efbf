package segment

import (
	"slices"
	"testing"
)

// clockOf is when each kernel of a stretch starts.
func clockOf(s Stretch) (start []int64) {
	at := int64(0)
	for i := range s.Len() {
		at += s.idle(i)
		start = append(start, at)
		at += int64(s.Time[i])
	}
	return start
}

// TestRestore: what is missing of a pass that no other one is like is found by the layers that it still has, if it took
// about as long as the pause, and if the kernels around the pause do not follow each other elsewhere.
func TestRestore(t *testing.T) {
	const n, unit = 20, 9
	any := func(int, int, int) bool { return true }
	for name, c := range map[string]struct {
		from, lost int
		longer     float64 // the pause, than what is missing
		hides      func(at, from, to int) bool
		found      bool
	}{
		"part of a layer":             {40, 5, 1, any, true},
		"part of two layers":          {40, 13, 1, any, true},
		"two layers and a half":       {34, 22, 1, any, true},
		"three layers and a half":     {34, 31, 1, any, true},
		"idle beside it":              {40, 13, 1.2, any, true},
		"more idle beside it":         {40, 13, 1.3, any, true},
		"a little faster":             {40, 13, .9, any, true},
		"no time for it":              {40, 13, .1, any, false},
		"a pause of the host":         {40, 5, 40, any, false},
		"whole layers":                {40, 18, 1, any, false},
		"fewer than are a stretch":    {40, 3, 1, any, false},
		"calls that were never made":  {40, 13, 1, func(int, int, int) bool { return false }, false},
		"the beginning of the pass":   {0, 5, 1, any, false},
		"the end of the pass":         {172, 12, 1, any, false},
		"nothing":                     {40, 0, 1, any, false},
		"in the second layer already": {13, 8, 1, any, true},
	} {
		whole := timed(n, unit)
		start := clockOf(whole)
		took := start[min(c.from+c.lost, whole.Len()-1)] - start[c.from]
		for i := c.from + c.lost; i < whole.Len(); i++ {
			start[i] += int64(float64(took) * (c.longer - 1))
		}
		s := &Sequence{}
		var keptAt []int64
		for i := range whole.Len() {
			if i < c.from || i >= c.from+c.lost {
				s.add(whole.ID[i], whole.Role[i])
				keptAt = append(keptAt, start[i])
			}
		}
		take, p := Restore(s, keptAt, c.hides)
		if (take != nil) != c.found {
			t.Errorf("%s: restored %v, want %v", name, take != nil, c.found)
			continue
		}
		if !c.found {
			continue
		}
		var ids []int32
		for _, k := range take {
			ids = append(ids, s.ID[k])
		}
		if !slices.Equal(ids, whole.ID) || !slices.Equal(p.Missing, []Gap{{From: c.from, To: c.from + c.lost, Before: c.from}}) {
			t.Errorf("%s: %d kernels, missing %v; want %d, [{%d %d %d}]", name, len(ids), p.Missing, whole.Len(), c.from,
				c.from+c.lost, c.from)
		}
		for k, j := range p.Column {
			if whole.ID[j] != s.ID[k] {
				t.Errorf("%s: kernel %d is read as column %d, which runs %d, not %d", name, k, j, whole.ID[j], s.ID[k])
				break
			}
		}
	}
}

// TestRestoreTwice: two places of one pass are restored, each by what it lacks.
func TestRestoreTwice(t *testing.T) {
	whole := timed(14, 9)
	start := clockOf(whole)
	s, at := &Sequence{}, []int64(nil)
	for i := range whole.Len() {
		if i >= 30 && i < 43 || i >= 80 && i < 87 {
			continue
		}
		s.add(whole.ID[i], whole.Role[i])
		at = append(at, start[i])
	}
	_, p := Restore(s, at, func(int, int, int) bool { return true })
	if want := []Gap{{From: 30, To: 43, Before: 30}, {From: 80, To: 87, Before: 67}}; !slices.Equal(p.Missing, want) {
		t.Errorf("missing %v, want %v", p.Missing, want)
	}
}
