package layer

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/intern"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// A gpu is a device with activities and the time that they take.
type gpu struct {
	id   trace.DeviceID
	busy time.Duration
}

// gpuNames are the names that the profiler recorded; the first of a device's counts.
func gpuNames(t *trace.Trace) map[trace.DeviceID]string {
	names := map[trace.DeviceID]string{}
	for _, g := range t.Meta().Devices {
		if _, ok := names[g.ID]; !ok {
			names[g.ID] = g.Name
		}
	}
	return names
}

// found is what is found once for all devices, so that many of them cost no more than their kernels.
type found struct {
	gpus       []gpu                      // those with activities, the busiest first; ties go to the lowest id
	acts       map[trace.DeviceID][]int32 // rows of the GPU lane by device, by start
	frames     func() *ladder.Frames
	rules, own *classify.Ruleset // the profile's with the user's, and those alone
	work       *classify.Ruleset // the default ones with the user's; nil where they are rules
}

// findOnce looks through the trace once for all devices.
func findOnce(t *trace.Trace, p *profile.ModelProfile, rules []classify.Rule) *found {
	f := &found{acts: map[trace.DeviceID][]int32{}, rules: p.Ruleset().With(rules...), own: classify.New(rules...)}
	if p.Ruleset() != classify.Default() {
		f.work = classify.Default().With(rules...)
	}
	var devices intern.Keys[trace.DeviceID]
	var counts []int
	deviceOf := make([]int32, 0, t.Len(event.LaneGPU)) // by row
	for e := range t.Events(event.LaneGPU) {
		id := e.Device()
		d := devices.ID(id)
		if d == len(counts) {
			f.gpus, counts = append(f.gpus, gpu{id: id}), append(counts, 0)
		}
		f.gpus[d].busy += e.Duration()
		counts[d]++
		deviceOf = append(deviceOf, int32(d))
	}
	rows := make([][]int32, len(counts))
	for d, n := range counts {
		// the first is mostly the only one: its rows take the room of what was read before them
		if rows[d] = deviceOf[:0]; d > 0 {
			rows[d] = make([]int32, 0, n)
		}
	}
	for row, d := range deviceOf {
		rows[d] = append(rows[d], int32(row))
	}
	for d, list := range rows {
		f.acts[devices.Key(d)] = list
	}
	slices.SortFunc(f.gpus, func(x, y gpu) int { return cmp.Or(cmp.Compare(y.busy, x.busy), cmp.Compare(x.id, y.id)) })
	f.frames = sync.OnceValue(func() *ladder.Frames { return ladder.ReadFrames(t) })
	return f
}
