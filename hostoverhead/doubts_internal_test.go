package hostoverhead

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/layer/finding"
)

// TestAnswers: YES from the least share on, NO where not even all that is unknown makes it up.
func TestAnswers(t *testing.T) {
	p := defaultParams()
	for _, c := range []struct {
		host, unknown int64
		want          Answer
	}{{10, 0, Yes}, {10, 90, Yes}, {9, 0, No}, {5, 4, No}, {9, 1, Inconclusive}, {0, 10, Inconclusive}, {0, 9, No}} {
		h := Headroom{WallNS: 100, HostNS: c.host, UnknownNS: c.unknown, Share: ratio(c.host, 100)}
		if got := p.answer(&h); got != c.want {
			t.Errorf("host %d, unknown %d of 100: %s, want %s", c.host, c.unknown, got, c.want)
		}
	}
}

// TestSteadyStepsMayAnswerOtherwise: a window whose steady steps alone would answer otherwise is doubted, and no other.
func TestSteadyStepsMayAnswerOtherwise(t *testing.T) {
	p := defaultParams()
	for _, c := range []struct {
		what           string
		steady, warmUp int64 // what the host causes of 100 ns of a step
		others         int
		doubted        bool
	}{{"warm-up decides", 0, 90, 3, true}, {"steady steps decide", 50, 90, 3, false},
		{"all are steady", 50, 0, 0, false}} {
		a := &account{}
		add := func(n int, phase string, host int64) {
			for range n {
				s := hostly(host)
				s.step = &hostStep{Phase: phase, Gen: 8}
				a.steps = append(a.steps, s)
			}
		}
		add(6, names.Generation, c.steady)
		add(c.others, names.Context, c.warmUp)
		d := a.warmUp(&Verdict{Verdict: Yes}, &p)
		if got := d.Code == DoubtWindowIsNotSteady.String() &&
			strings.Contains(d.Evidence, "over the 6 steady steps alone the host costs 0.0%"); got != c.doubted ||
			d.Code != "" && !got {
			t.Errorf("%s: %+v, doubted %v", c.what, d, c.doubted)
		}
	}
}

// TestOneGapMayBeMostOfTheTime: the gap with most time of the steps is doubted beyond its share of them; what of it
// no step has counts for nothing.
func TestOneGapMayBeMostOfTheTime(t *testing.T) {
	for _, c := range []struct {
		gaps []int64
		wall int64
		out  int64  // so many ns of each are in no step
		want string // length of the gap, "" for no doubt
	}{
		{[]int64{10, 50, 20}, 100, 0, "50 ns"}, {[]int64{50, 10, 50}, 100, 0, "50 ns"},
		{[]int64{10, 20, 31}, 100, 0, "31 ns"}, {[]int64{30}, 100, 0, ""}, {[]int64{50}, 100, 19, "31 ns"},
		{[]int64{50}, 100, 20, ""}, {nil, 100, 0, ""},
	} {
		p := defaultParams()
		a := &account{}
		at := int64(0)
		for _, n := range c.gaps {
			a.top = append(a.top, gapAccount{span: interval.Span{Start: at, End: at + n},
				names: []keySum{{nameSum: nameSum{ns: n, steps: n - c.out}}}})
			at += n + 10
		}
		d := a.pause(&Verdict{Verdict: Yes, Headroom: Headroom{WallNS: c.wall, HostNS: 90}}, &p)
		if got := d.Code != ""; got != (c.want != "") || got && !strings.Contains(d.Evidence, "one gap of "+c.want) {
			t.Errorf("gaps of %d of %d ns: %+v, want %q", c.gaps, c.wall, d, c.want)
		}
	}
	// Of 100 ns the host causes 40: without a gap of 34 it is 6 of 66, below a tenth, without one of 33 7 of 67.
	for ns, want := range map[int64]finding.Band{34: finding.Low, 33: finding.Medium} {
		p := defaultParams()
		a := &account{top: []gapAccount{{span: interval.Span{End: ns},
			names: []keySum{{nameKey{cause: finding.HostCode}, nameSum{steps: ns}}}}}}
		if d := a.pause(&Verdict{Verdict: Yes, Headroom: Headroom{WallNS: 100, HostNS: 40}}, &p); d.Confidence != want {
			t.Errorf("a gap of %d ns: confidence %s, want %s", ns, d.Confidence, want)
		}
	}
}
