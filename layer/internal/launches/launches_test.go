package launches_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/llmstrata/strata/layer/internal/launches"
)

// TestStagesOfLaunches: what is launched one by one and takes twice as long as its replays is a prefill, and they are
// decodes.
func TestStagesOfLaunches(t *testing.T) {
	pass := func(replayed int, work time.Duration) launches.Pass {
		return launches.Pass{Model: "m", Layers: 4, Kernels: 100, Replayed: replayed, Work: work, Generates: true}
	}
	with := func(p launches.Pass, change func(*launches.Pass)) launches.Pass {
		change(&p)
		return p
	}
	const u, d, p = launches.Unknown, launches.Decode, launches.Prefill
	for _, c := range []struct {
		name   string
		passes []launches.Pass
		want   []launches.Stage
	}{
		{"twice as long", []launches.Pass{pass(90, 10), pass(10, 20)}, []launches.Stage{d, p}},
		{"less", []launches.Pass{pass(90, 10), pass(10, 19)}, []launches.Stage{u, u}},
		{"than the longest", []launches.Pass{pass(90, 10), pass(90, 11), pass(10, 21)}, []launches.Stage{u, u, u}},
		{"graphs in pieces", []launches.Pass{pass(89, 10), pass(10, 20)}, []launches.Stage{u, u}},
		{"more than a little of it replayed", []launches.Pass{pass(90, 10), pass(11, 20)}, []launches.Stage{u, u}},
		{"one of both", []launches.Pass{pass(90, 10), pass(11, 20), pass(0, 40)}, []launches.Stage{d, u, p}},
		{"other layers", []launches.Pass{pass(90, 10), with(pass(10, 20), func(p *launches.Pass) { p.Layers = 5 })},
			[]launches.Stage{u, u}},
		{"another model", []launches.Pass{pass(90, 10), with(pass(10, 20), func(p *launches.Pass) { p.Model = "n" })},
			[]launches.Stage{u, u}},
		{"generates nothing", []launches.Pass{pass(90, 10),
			with(pass(10, 20), func(p *launches.Pass) { p.Generates = false })}, []launches.Stage{u, u}},
		{"known", []launches.Pass{pass(90, 10), with(pass(10, 20), func(p *launches.Pass) { p.Known = true })},
			[]launches.Stage{u, u}},
		{"a known decode", []launches.Pass{with(pass(90, 10),
			func(p *launches.Pass) { p.Known, p.Decodes = true, true }), pass(10, 20)}, []launches.Stage{u, p}},
		{"a known prefill", []launches.Pass{with(pass(90, 10), func(p *launches.Pass) { p.Known = true }),
			pass(10, 20)}, []launches.Stage{u, u}},
		{"no time", []launches.Pass{pass(90, 0), pass(10, 20)}, []launches.Stage{u, u}},
		{"one nanosecond", []launches.Pass{pass(90, 1), pass(10, 2)}, []launches.Stage{d, p}},
		{"no kernels", []launches.Pass{pass(90, 10), with(pass(0, 20), func(p *launches.Pass) { p.Kernels = 0 })},
			[]launches.Stage{d, p}},
		{"one kernel", []launches.Pass{with(pass(1, 10), func(p *launches.Pass) { p.Kernels = 1 }), pass(10, 20)},
			[]launches.Stage{d, p}},
	} {
		if got := launches.Stages(c.passes); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
