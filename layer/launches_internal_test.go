package layer

import (
	"fmt"
	"testing"
	"time"
)

// TestStagesOfLaunches: what is launched one by one and takes twice as long as its replays is a prefill, and they are
// decodes.
func TestStagesOfLaunches(t *testing.T) {
	pass := func(replayed int, work time.Duration) launchedPass {
		return launchedPass{runsOf: runsOf{"m", 4}, kernels: 100, replayed: replayed, work: work, generates: true}
	}
	with := func(p launchedPass, change func(*launchedPass)) launchedPass {
		change(&p)
		return p
	}
	const u, d, p = StageUnknown, StageDecode, StagePrefill
	for _, c := range []struct {
		name   string
		passes []launchedPass
		want   []Stage
	}{
		{"twice as long", []launchedPass{pass(90, 10), pass(10, 20)}, []Stage{d, p}},
		{"less", []launchedPass{pass(90, 10), pass(10, 19)}, []Stage{u, u}},
		{"than the longest", []launchedPass{pass(90, 10), pass(90, 11), pass(10, 21)}, []Stage{u, u, u}},
		{"graphs in pieces", []launchedPass{pass(89, 10), pass(10, 20)}, []Stage{u, u}},
		{"more than a little of it replayed", []launchedPass{pass(90, 10), pass(11, 20)}, []Stage{u, u}},
		{"one of both", []launchedPass{pass(90, 10), pass(11, 20), pass(0, 40)}, []Stage{d, u, p}},
		{"other layers", []launchedPass{pass(90, 10), with(pass(10, 20), func(p *launchedPass) { p.layers = 5 })},
			[]Stage{u, u}},
		{"another model", []launchedPass{pass(90, 10), with(pass(10, 20), func(p *launchedPass) { p.model = "n" })},
			[]Stage{u, u}},
		{"generates nothing", []launchedPass{pass(90, 10),
			with(pass(10, 20), func(p *launchedPass) { p.generates = false })}, []Stage{u, u}},
		{"known", []launchedPass{pass(90, 10), with(pass(10, 20), func(p *launchedPass) { p.known = true })},
			[]Stage{u, u}},
		{"a known decode", []launchedPass{with(pass(90, 10),
			func(p *launchedPass) { p.known, p.decodes = true, true }), pass(10, 20)}, []Stage{u, p}},
		{"a known prefill", []launchedPass{with(pass(90, 10), func(p *launchedPass) { p.known = true }),
			pass(10, 20)}, []Stage{u, u}},
		{"no time", []launchedPass{pass(90, 0), pass(10, 20)}, []Stage{u, u}},
		{"one nanosecond", []launchedPass{pass(90, 1), pass(10, 2)}, []Stage{d, p}},
		{"no kernels", []launchedPass{pass(90, 10), with(pass(0, 20), func(p *launchedPass) { p.kernels = 0 })},
			[]Stage{d, p}},
		{"one kernel", []launchedPass{with(pass(1, 10), func(p *launchedPass) { p.kernels = 1 }), pass(10, 20)},
			[]Stage{d, p}},
	} {
		if got := stagesByLaunches(c.passes); fmt.Sprint(got) != fmt.Sprint(c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
