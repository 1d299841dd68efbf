package roofline

import (
	"testing"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/trace"
)

// pair makes two ranks that start a hundred collectives up to 40 µs apart, each 50 µs long on the later one. The ends of the first apart ones of the
// second rank are so much later.
func pair(apart int, later time.Duration) (a, b []exchange) {
	for i := range 100 {
		start := trace.Time(i) * trace.Time(time.Millisecond)
		end := start + trace.Time(90*time.Microsecond)
		late := trace.Time(i%5) * trace.Time(10*time.Microsecond)
		x := exchange{kernel: int32(i), kind: classify.AllReduce, start: start, end: end}
		y := exchange{kernel: int32(i), kind: classify.AllReduce, start: start + late, end: end}
		if i < apart {
			y.end += trace.Time(later)
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
		{"within ten microseconds", 40, endsWithin, true},
		{"beyond them", 40, endsWithin + 1, false},
	} {
		a, b := pair(c.apart, c.later)
		if got := together(a, b); got != c.want {
			t.Errorf("%s: %t, want %t", c.name, got, c.want)
		}
	}
}

// Long collectives may end further apart, by a tenth of what the shorter one takes.
func TestTogetherInLongCollectives(t *testing.T) {
	for later, want := range map[time.Duration]bool{100 * time.Microsecond: true, 101 * time.Microsecond: false} {
		a, b := pair(0, 0)
		for i := range a {
			a[i].end = a[i].start + trace.Time(time.Millisecond)
			b[i].start = a[i].start - trace.Time(i%5)*trace.Time(time.Millisecond)
			b[i].end = a[i].end
			if i < 40 {
				b[i].end += trace.Time(later)
			}
		}
		if got := together(a, b); got != want {
			t.Errorf("%v apart: %t, want %t", later, got, want)
		}
	}
}

// Ranks that end as far apart as they start do not meet; waiting takes at least half of the differences away.
func TestTogetherBecauseOfWaiting(t *testing.T) {
	for _, c := range []struct {
		left trace.Time // of 4 µs
		want bool
	}{{2000, true}, {2001, false}} {
		a, b := pair(0, 0)
		for i := range b {
			sign := trace.Time(1 - 2*(i%2))
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
