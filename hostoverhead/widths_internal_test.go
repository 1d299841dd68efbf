package hostoverhead

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/finding"
)

// TestWidthsOfNames: a name that fits is not cut; a longer frame loses directories, any other name its end.
func TestWidthsOfNames(t *testing.T) {
	written := func(write func(*table.Writer)) string {
		_, text := rowsOf(t, write, "")
		return text
	}
	named := func(name string) []IdleName { return []IdleName{{Name: name, NS: 10, StepsNS: 10}} }
	idle := func(name string) []IdleCause {
		return []IdleCause{{Group: finding.HostWork, Host: true, Cause: finding.HostCode, NS: 10, StepsNS: 10,
			Names: named(name)}}
	}
	gap := func(g Gap) string {
		r := RankVerdict{Top: []Gap{g}}
		return written(r.writeGaps)
	}
	for _, c := range []struct {
		what   string
		width  int
		frames bool
		text   func(name string) string
	}{
		{"summary", 60, true, func(name string) string { return (&Verdict{Idle: idle(name)}).largestName() }},
		{"idle time", 60, true, func(name string) string {
			v := Verdict{Idle: idle(name)}
			return written(func(b *table.Writer) { v.writeIdle(b, &RankVerdict{}) })
		}},
		{"ledger", 90, true, func(name string) string { return written((&RankVerdict{Idle: idle(name)}).writeDrill) }},
		{"before a gap", 60, false, func(name string) string { return gap(Gap{NS: 10_000, Before: name}) }},
		{"after a gap", 60, false, func(name string) string { return gap(Gap{NS: 10_000, After: name}) }},
		{"cause of a gap", 60, true, func(name string) string {
			return gap(Gap{NS: 10_000,
				Causes: []IdleName{{Name: name, NS: 10_000}}})
		}},
		{"eager kernel", 60, false, func(name string) string {
			return written((&RankVerdict{Coverage: Coverage{EagerKernels: []EagerKernel{{Name: name}}}}).writeCoverage)
		}},
		{"its source", 60, true, func(name string) string {
			return written((&RankVerdict{Coverage: Coverage{EagerKernels: []EagerKernel{{Source: name}}}}).writeCoverage)
		}},
	} {
		if fits := strings.Repeat("k", c.width); !strings.Contains(c.text(fits), fits) {
			t.Errorf("%s: a name of %d letters is cut:\n%s", c.what, c.width, c.text(fits))
		}
		if long := strings.Repeat("k", c.width/2) + "/" +
			strings.Repeat("k", c.width/2); strings.Contains(c.text(long), long) ||
			!strings.Contains(c.text(long), long[:c.width/2-3]) {
			t.Errorf("%s: a name of %d letters is not cut to %d:\n%s", c.what, c.width+1, c.width, c.text(long))
		}
		if !c.frames {
			continue
		}
		const end = "/mod.py(1): function"
		frame := func(n int) string { return "/" + strings.Repeat("d", n-len(end)-1) + end }
		if fits := frame(c.width); !strings.Contains(c.text(fits), fits) {
			t.Errorf("%s: a frame of %d letters is cut:\n%s", c.what, c.width, c.text(fits))
		}
		if long := frame(c.width + 1); !strings.Contains(c.text(long), "…"+end) {
			t.Errorf("%s: a frame of %d letters keeps its directory:\n%s", c.what, c.width+1, c.text(long))
		}
	}
}

// TestBound: what is left of the time bounds how much faster it can be, to three decimals.
func TestBound(t *testing.T) {
	for _, c := range []struct {
		wall, without int64
		want          float64
	}{{3, 1, 1.5}, {7, 1, 1.167}, {7, 0, 1}, {2, 1, 2}, {1, 1, 1}, {1, 2, 1}, {0, 0, 1}} {
		if got := bound(c.wall, c.without); got != c.want {
			t.Errorf("%d ns without %d: %v, want %v", c.wall, c.without, got, c.want)
		}
	}
}

// TestLargestIsOfTheHost: the summary names the cause that takes most of the time of the host, none where it takes
// none.
func TestLargestIsOfTheHost(t *testing.T) {
	none := Verdict{Idle: []IdleCause{{Host: true, Cause: finding.HostCode, Names: []IdleName{{Name: "f"}}},
		{Cause: finding.Transfer, StepsNS: 9, Names: []IdleName{{Name: "copy"}}}}}
	if got := none.largestName(); got != "" {
		t.Errorf("the host causes nothing, but %q", got)
	}
	none.Idle[0].StepsNS, none.Idle[0].Names[0].StepsNS, none.Headroom.HostNS = 1, 1, 1
	if got := none.largestName(); got != "; largest cause: host-code (100.0%), mostly f" {
		t.Errorf("one nanosecond of the host: %q", got)
	}
}
