package fleet

import (
	"testing"
	"time"
)

// pair makes two ranks that start a hundred collectives up to 40 µs apart, each 50 µs long on the later one. The ends
// of the first apart ones of the second rank are so much later.
func pair(apart int, later time.Duration) (a, b []span) {
	for i := range 100 {
		start := int64(i) * int64(time.Millisecond)
		end := start + int64(90*time.Microsecond)
		late := int64(i%5) * int64(10*time.Microsecond)
		x := span{start, end}
		y := span{start + late, end}
		if i < apart {
			y.end += int64(later)
		}
		a, b = append(a, x), append(b, y)
	}
	return a, b
}

// The numbers that decide whether two ranks are one group, each from both sides.
func TestTogether(t *testing.T) {
	for _, c := range []struct {
		name  string
		apart int
		later time.Duration
		want  bool
	}{
		{"all end together", 0, 0, true},
		{"a few records are lost", 10, time.Millisecond, true},
		{"more than that", 11, time.Millisecond, false},
		{"within ten microseconds", 40, time.Duration(endsWithin), true},
		{"beyond them", 40, time.Duration(endsWithin) + 1, false},
	} {
		a, b := pair(c.apart, c.later)
		if got := together(a, b); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// One collective that both ranks begin and end at one time is enough; none says nothing.
func TestTogetherInOneOrNone(t *testing.T) {
	if one := []span{{10, 20}}; !together(one, one) || together(nil, nil) || together(one, nil) {
		t.Error("one collective of both is not enough, or none is")
	}
}

// Long collectives may end further apart, by a tenth of what the shorter one takes.
func TestTogetherInLongCollectives(t *testing.T) {
	for later, want := range map[time.Duration]bool{100 * time.Microsecond: true, 101 * time.Microsecond: false} {
		a, b := pair(0, 0)
		for i := range a {
			a[i].end = a[i].start + int64(time.Millisecond)
			b[i].start = a[i].start - int64(i%5)*int64(time.Millisecond/4)
			b[i].end = a[i].end
			if i < 40 {
				b[i].end += int64(later)
			}
		}
		if got := together(a, b); got != want {
			t.Errorf("%v apart: %t, want %t", later, got, want)
		}
	}
}

// Ranks that wait long for one another may end further apart, by a tenth of what most of their starts differ by: who
// arrives last ends first, and the clocks are set by the ends.
func TestTogetherThatWaitLong(t *testing.T) {
	for later, want := range map[time.Duration]bool{24 * time.Microsecond: true, 26 * time.Microsecond: false} {
		a, b := pair(40, later)
		for i := range b {
			b[i].start = a[i].start - int64(i%5)*int64(125*time.Microsecond) // 250 µs to both sides of the median
		}
		if got := together(a, b); got != want {
			t.Errorf("%v apart: %t, want %t", later, got, want)
		}
	}
}

// Ranks that end as far apart as they start do not meet; waiting takes at least half of the differences away.
func TestTogetherBecauseOfWaiting(t *testing.T) {
	for _, c := range []struct {
		left int64 // of 4 µs
		want bool
	}{{2000, true}, {2001, false}} {
		a, b := pair(0, 0)
		for i := range b {
			sign := int64(1 - 2*(i%2))
			if i%5 == 4 {
				sign = 0
			}
			b[i].start, b[i].end = a[i].start+4000*sign, a[i].end+c.left*sign
		}
		if got := together(a, b); got != c.want {
			t.Errorf("%v of 4 µs left: %t, want %t", time.Duration(c.left), got, c.want)
		}
	}
}
