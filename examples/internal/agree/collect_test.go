package agree

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/gen"
)

// truth is what is known of a trace beforehand. Numbers that nobody knows are −1.
type truth struct {
	passes, layers, tp int
	allReduces         int      // in the layers of one pass
	stages             []string // of the passes, nil where not known
	framework          string
	// nothing in the trace names stages and framework: a program that does not know them is right, others are wrong
	untold bool
	idle   map[string]float64 // share of each stage's time without work, nil where not known
	rows   []gen.Truth        // of generated traces
}

// collect lists what is said about a trace.
func collect(d *documents, raw map[int]*work, t truth) *ledger {
	l := &ledger{}
	d.accepted(l)
	d.work(l, raw)
	d.communication(l)
	d.passes(l, t)
	d.settings(l, t)
	if t.rows != nil {
		d.places(l, t)
	}
	return l
}

// ok reports whether a program made a document.
func (d *documents) ok(program string) bool { return d.failed[program] == "" }

// accepted: a trace is read by all programs or by none.
func (d *documents) accepted(l *ledger) {
	for _, p := range programs {
		word := "read"
		if !d.ok(p.name) {
			word = "refused"
		}
		l.about(kindAccepted, "").say(p.name, word)
	}
}

// work: devices, kernels and times against the raw events.
func (d *documents) work(l *ledger, raw map[int]*work) {
	ids := make([]int, 0, len(raw))
	kernels, activities, total := 0, 0, int64(0)
	for id, w := range raw {
		ids = append(ids, id)
		kernels += w.kernels
		activities += w.kernels + w.others
		total += w.activityNS
	}
	slices.Sort(ids)
	devices := l.about(kindDevices, "")
	devices.count(byOracle, len(ids))
	for _, id := range ids {
		d.device(l, id, raw[id])
	}
	if d.ok("host-detect") {
		devices.count("host-detect", len(d.detect.Ranks))
	}
	if d.ok("triage") {
		n, launches, micros := 0, 0, 0.0
		for _, s := range d.triage.Stages {
			n, launches, micros = max(n, s.Devices), launches+s.Launches, micros+s.GPUTimeUS
		}
		devices.count("triage", n)
		s := l.about(kindKernels, "with copies, all devices")
		s.count(byOracle, activities)
		s.count("triage", launches)
		s = l.about(kindTime, "with copies, all devices")
		s.measure(byOracle, float64(total), timeTolerance(float64(total)))
		s.measure("triage", micros*1e3, timeTolerance(float64(total)))
	}
	if d.ok("layer-timeline") && d.ok("kernel-export") && len(ids) > 1 && len(d.shown) > 0 {
		s := l.about(kindShown, "")
		s.count("layer-timeline", d.timeline.Device)
		s.count("kernel-export", d.shown[0].device)
	}
}

// device: what programs say about one device.
func (d *documents) device(l *ledger, id int, w *work) {
	name := "device " + strconv.Itoa(id)
	kernels, busy := l.about(kindKernels, name), l.about(kindBusy, name)
	time := l.about(kindTime, name)
	kernels.count(byOracle, w.kernels)
	busy.measure(byOracle, float64(w.busyNS), timeTolerance(float64(w.busyNS)))
	time.measure(byOracle, float64(w.activityNS), timeTolerance(float64(w.activityNS)))
	if d.ok("layer-timeline") && d.timeline.Device == id {
		kernels.count("layer-timeline", d.timeline.NumKernels)
		ns := 0.0
		for _, c := range d.timeline.Categories {
			ns += c.TimeMS * 1e6
		}
		time.measure("layer-timeline", ns, 0)
	}
	for _, v := range d.detect.Ranks {
		if v.Device == id {
			kernels.count("host-detect", v.Kernels)
			busy.measure("host-detect", float64(v.BusyNS), 0)
		}
	}
	if d.ok("kernel-export") {
		n, ns := 0, int64(0)
		for _, r := range d.rows {
			if r.device == id {
				ns += r.dur
				if r.kind == "kernel" {
					n++
				}
			}
		}
		kernels.count("kernel-export", n)
		time.measure("kernel-export", float64(ns), 0)
	}
}

// communication: the time in communication kernels and in every other category,
// by the rows of kernel-export.
func (d *documents) communication(l *ledger) {
	if !d.ok("kernel-export") {
		return
	}
	all, shown := map[string]float64{}, map[string]float64{}
	comm := map[int]float64{}
	for _, r := range d.rows {
		all[r.category] += float64(r.dur)
		if r.device == d.timeline.Device {
			shown[r.category] += float64(r.dur)
		}
		if r.category == "communication" && r.kind == "kernel" {
			comm[r.device] += float64(r.dur)
		}
	}
	if d.ok("triage") {
		got := map[string]float64{}
		for _, s := range d.triage.Stages {
			for _, c := range s.Categories {
				got[c.Category] += c.GPUTimeUS * 1e3
			}
		}
		byCategory(l, "all devices", all, "triage", got)
	}
	if d.ok("layer-timeline") {
		got := map[string]float64{}
		for _, c := range d.timeline.Categories {
			got[c.Category] += c.TimeMS * 1e6
		}
		byCategory(l, "device "+strconv.Itoa(d.timeline.Device), shown, "layer-timeline", got)
	}
	for _, v := range d.detect.Ranks {
		if v.BusyNS == 0 {
			continue
		}
		s := l.about(kindComm, "share of device "+strconv.Itoa(v.Device))
		s.measure("kernel-export", comm[v.Device]/float64(v.BusyNS), ratioTolerance)
		s.measure("host-detect", v.Comm, 0)
	}
}

// byCategory compares two splits of time by category.
func byCategory(l *ledger, where string, want map[string]float64, who string, got map[string]float64) {
	names := map[string]bool{}
	for c := range want {
		names[c] = true
	}
	for c := range got {
		names[c] = true
	}
	differ := ""
	for _, c := range slices.Sorted(maps.Keys(names)) {
		off := math.Abs(want[c] - got[c])
		if c == "communication" {
			s := l.about(kindComm, "time of "+where)
			s.measure("kernel-export", want[c], timeTolerance(want[c]))
			s.measure(who, got[c], 0)
		} else if off > timeTolerance(want[c]) {
			differ += " " + c
		}
	}
	s := l.about(kindCategories, where)
	if len(s.claims) == 0 {
		s.say("kernel-export", "the same")
	}
	s.say(who, strings.TrimSpace("the same"+map[bool]string{true: " but" + differ}[differ != ""]))
}

// passes compares the number of passes, their stages, and how many layers and all-reduces they have.
func (d *documents) passes(l *ledger, t truth) {
	number, stages, layers := l.about(kindPasses, ""), l.about(kindStages, ""), l.about(kindLayers, "")
	if t.passes >= 0 {
		number.count(byTruth, t.passes)
	}
	if t.stages != nil && !(t.untold && d.untoldStages()) {
		stages.say(byTruth, stageSet(t.stages))
	}
	if t.layers >= 0 {
		layers.count(byTruth, t.layers)
	}
	if d.ok("layer-timeline") {
		var words []string
		for _, p := range d.timeline.Passes {
			words = append(words, p.Stage)
		}
		number.count("layer-timeline", len(d.timeline.Passes))
		stages.say("layer-timeline", stageSet(words))
		layers.count("layer-timeline", d.timeline.NumLayers)
		if t.allReduces >= 0 {
			n := 0
			for _, x := range d.timeline.Layers {
				n += x.AllReduces
			}
			s := l.about(kindAllReduces, "")
			s.count(byTruth, t.allReduces)
			s.count("layer-timeline", n)
		}
	}
	if d.ok("perfetto-map") {
		var words []string
		for _, p := range d.perfetto.Passes {
			words = append(words, p.Stage)
		}
		number.count("perfetto-map", len(words))
		stages.say("perfetto-map", stageSet(words))
	}
	d.exportedPasses(number, stages)
	d.steps(l, number, stages, t)
}

// notTold is how documents write what they do not know.
const notTold = "unknown"

// untoldStages reports whether layer-timeline names no stage.
func (d *documents) untoldStages() bool {
	for _, p := range d.timeline.Passes {
		if p.Stage != notTold {
			return false
		}
	}
	return d.ok("layer-timeline")
}

// exportedPasses: the passes of kernel-export's rows of the shown device.
func (d *documents) exportedPasses(number, stages *subject) {
	if !d.ok("kernel-export") {
		return
	}
	seen := map[int]string{}
	for _, r := range d.rows {
		if r.pass >= 0 && r.device == d.timeline.Device {
			seen[r.pass] = r.stage
		}
	}
	number.count("kernel-export", len(seen))
	stages.say("kernel-export", stageSet(slices.Collect(maps.Values(seen))))
}

// steps compares what triage and the host programs call steps and phases. They count the steps of the server. A file of
// several GPUs has one step for each pass that its ranks run together, so the numbers are compared only for one device.
// A program that found no step reports 0.
func (d *documents) steps(l *ledger, number, stages *subject, t truth) {
	one := len(d.detect.Ranks) <= 1
	if d.ok("triage") {
		var words []string
		n := 0
		for _, s := range d.triage.Stages {
			words = append(words, s.Stage)
			n += s.Steps
		}
		stages.say("triage", stageSet(words))
		if one && n > 0 {
			number.count("triage", n)
		}
	}
	if d.ok("host-detect") {
		var words []string
		for _, p := range d.detect.Ranks[d.detect.Deciding].Stages {
			words = append(words, p.Stage)
			if share, ok := t.idle[p.Stage]; ok {
				s := l.about(kindIdle, p.Stage)
				s.measure(byTruth, share, idleTolerance)
				s.measure("host-detect", float64(p.Headroom.IdleNS)/float64(p.Headroom.WallNS), 0)
			}
		}
		stages.say("host-detect", stageSet(words))
		if one {
			number.count("host-detect", d.detect.Ranks[d.detect.Deciding].Steps)
		}
	}
	if d.ok("host-compare") && one {
		number.count("host-compare", d.compare.Steps)
	}
}

// idleTolerance is how far a stage's share of idle time may lie from the truth:
// whether the gap between two steps is the first's or the second's is a convention.
const idleTolerance = 0.05

// settings: parallel size and framework.
func (d *documents) settings(l *ledger, t truth) {
	size, server := l.about(kindTP, ""), l.about(kindFramework, "")
	if t.tp >= 0 {
		size.count(byTruth, t.tp)
	}
	if t.framework != "" && !(t.untold && d.ok("triage") && d.triage.Framework == notTold) {
		server.say(byTruth, t.framework)
	}
	// A size that is not in the trace is not known, and no program reports it. A program that does not know what
	// another one found disagrees with it.
	found := d.ok("layer-timeline") && d.timeline.TP.N > 0
	if found {
		size.count("layer-timeline", d.timeline.TP.N)
	}
	if d.ok("triage") {
		if d.triage.TPSize > 0 {
			size.count("triage", d.triage.TPSize)
		} else if found {
			size.say("triage", "unknown")
		}
		server.say("triage", strings.ToLower(d.triage.Framework))
	}
	if d.ok("host-compare") {
		if d.compare.TPSize > 0 {
			size.count("host-compare", d.compare.TPSize)
		} else if found {
			size.say("host-compare", "unknown")
		}
	}
}

// places: pass and layer of each kernel against the generator's truth.
func (d *documents) places(l *ledger, t truth) {
	if !d.ok("kernel-export") || len(d.rows) != len(t.rows) {
		return // the number of kernels is a subject of its own
	}
	type key struct{ device, start, dur int64 }
	origin := t.rows[0].Start
	for _, r := range t.rows {
		origin = min(origin, r.Start)
	}
	first := int64(math.MaxInt64)
	for _, r := range d.rows {
		first = min(first, r.start)
	}
	at := map[key]gen.Truth{}
	for _, r := range t.rows {
		at[key{int64(r.Device), r.Start - origin, r.Duration}] = r
	}
	wrong := 0
	for _, r := range d.rows {
		want, ok := at[key{int64(r.device), r.start - first, r.dur}]
		if !ok || want.Layer >= 0 && (want.Pass != r.pass || want.Layer != r.layer) || want.Layer < 0 && r.layer >= 0 {
			wrong++
		}
	}
	s := l.about(kindPlaces, "")
	s.say(byTruth, "0 wrong")
	s.say("kernel-export", strconv.Itoa(wrong)+" wrong")
}
