package published

import (
	"context"
	"errors"
	"math"
	"regexp"
	"slices"
	"sort"
	"strings"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/interval"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// ErrNoHostKernels says that the trace holds no GPU kernels.
var ErrNoHostKernels = errors.New("no GPU kernels in the trace")

// prepPatterns are names of host preparation ranges; the first that occurs in a window is used.
var prepPatterns = []string{"_prepare_tp_inputs", "_prepare_inputs", "prepare_inputs"}

// stepName is the only step annotation that the detector knows. Its groups count context and generation requests.
var stepName = regexp.MustCompile(`_forward_step \d+: *(\d+) ctx reqs, *(\d+) gen reqs`)

// The phases, keys of [Report.Phases].
const (
	phaseContext    = "context"    // some context requests
	phaseGeneration = "generation" // generation requests only
)

// HostOptions are the detector's settings.
type HostOptions struct {
	// Thresholds are for the window and for context steps, Generation for generation steps. Zero: [HostThresholds] and
	// [GenerationThresholds].
	Thresholds, Generation Thresholds
	// NoPrep leaves host preparation out.
	NoPrep bool
}

// DetectHost computes the figures. The error is [ErrNoHostKernels] where there are none, and ctx's when cancelled.
func DetectHost(ctx context.Context, t *trace.Trace, o HostOptions) (*HostReport, error) {
	if o.Thresholds == (Thresholds{}) {
		o.Thresholds = HostThresholds()
	}
	if o.Generation == (Thresholds{}) {
		o.Generation = GenerationThresholds()
	}
	d := &detector{t: t}
	if !d.collectKernels() {
		return nil, ErrNoHostKernels
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.collectLaunches()
	phases, counts := d.collectRanges(!o.NoPrep)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r := &HostReport{Metrics: d.measure(d.window), Phases: map[string]*Phase{}}
	r.Judgement = judge(&r.Metrics, o.Thresholds)
	r.NCCLCaveat = r.Metrics.NCCL.above(o.Thresholds.NCCL)
	for name, window := range phases {
		p := &Phase{Iterations: counts[name], Metrics: d.measure(window)}
		if p.Metrics.kernels == 0 {
			continue
		}
		limits := o.Thresholds
		if name == phaseGeneration {
			limits = o.Generation
		}
		p.Judgement = judge(&p.Metrics, limits)
		r.Phases[name] = p
		if p.Verdict == yes {
			r.Verdict = yes // phases raise the verdict, never lower it
		}
	}
	return r, ctx.Err()
}

// detector is what the figures are made of.
type detector struct {
	t        *trace.Trace
	window   interval.Span
	found    bool            // a kernel
	names    []nameKind      // of kernels, by name
	launches []interval.Span // calls of cudaLaunchKernel
	known    bool            // API calls were recorded
	prep     []prepRange
	room     []interval.Span // for the kernels of one window
}

// nameKind is what a kernel's name says.
type nameKind uint8

const (
	notAsked nameKind = iota
	compute
	nccl
)

type prepRange struct {
	span    interval.Span
	pattern int // of prepPatterns
}

func spanOf(e trace.Event) interval.Span {
	return interval.Span{Start: int64(e.Start()), End: int64(e.End())}
}

// collectKernels looks at kernels only: no copies, no graph replays that were recorded as a whole.
func (d *detector) collectKernels() bool {
	d.names = make([]nameKind, d.t.NumNames())
	for e := range d.t.Events(event.LaneGPU) {
		if e.Kind() != event.Kernel {
			continue
		}
		if k := &d.names[e.NameID()]; *k == notAsked {
			*k = compute
			if isNCCL(e.Name()) {
				*k = nccl
			}
		}
		s := spanOf(e)
		if !d.found {
			d.window = s
		}
		d.found = true
		d.window.End = max(d.window.End, s.End)
	}
	return d.found
}

// isNCCL says whether a kernel's function has the word. Few names have it anywhere, so few are read.
func isNCCL(name string) bool {
	const word = "nccl"
	if !strings.Contains(strings.ToLower(name), word) {
		return false
	}
	n := classify.Parse(name)
	return strings.Contains(strings.ToLower(n.Function), word)
}

// from is the first row of the GPU's lane that starts at a time or later.
func (d *detector) from(at int64) int {
	return sort.Search(d.t.Len(event.LaneGPU), func(i int) bool {
		return int64(d.t.LaneAt(event.LaneGPU,
			i).Start()) >= at
	})
}

// launchCall is the only API name that counts, as it is in the file.
const launchCall = "cudaLaunchKernel"

func (d *detector) collectLaunches() {
	d.known = d.t.Len(event.LaneLaunch) > 0
	if !d.storedPlain() {
		return
	}
	for e := range d.t.Events(event.LaneLaunch) {
		if e.Name() == launchCall {
			d.launches = append(d.launches, spanOf(e))
		}
	}
}

// storedNamesKey is trace/nsys.ExtraStoredAPINames, repeated because only programs import that package.
const storedNamesKey = "nsys_stored_api_names"

// storedPlain says whether the file itself writes the name without a version suffix.
func (d *detector) storedPlain() bool {
	raw, ok := d.t.Meta().Extra[storedNamesKey]
	if !ok {
		return true
	}
	var stored map[string][]string
	if err := json.Unmarshal(raw, &stored); err != nil {
		return true
	}
	list, ok := stored[launchCall]
	return !ok || slices.Contains(list, launchCall)
}

// collectRanges reads annotations: the hull of each phase's steps with their number, one for each rank and step, and
// the preparation ranges.
func (d *detector) collectRanges(prep bool) (phases map[string]interval.Span, counts map[string]int) {
	phases, counts = map[string]interval.Span{}, map[string]int{}
	for e := range d.t.Events(event.LaneAnnotation) {
		if e.Kind() == event.GPUAnnotation || e.Kind() == event.Mark {
			continue
		}
		name, s := e.Name(), spanOf(e)
		if phase := phaseOf(name); phase != "" {
			hull, ok := phases[phase]
			if !ok {
				hull = interval.Span{Start: math.MaxInt64, End: math.MinInt64}
			}
			phases[phase] = interval.Span{Start: min(hull.Start, s.Start), End: max(hull.End, s.End)}
			counts[phase]++
		}
		name = strings.ToLower(name)
		if p := slices.IndexFunc(prepPatterns, func(p string) bool { return strings.Contains(name, p) }); prep &&
			p >= 0 {
			d.prep = append(d.prep, prepRange{s, p})
		}
	}
	return phases, counts
}

// phaseOf is the phase of a step annotation, "" for other names and for steps without requests.
func phaseOf(name string) string {
	m := stepName.FindStringSubmatch(name)
	switch {
	case m == nil:
		return ""
	case strings.Trim(m[1], "0") != "":
		return phaseContext
	case strings.Trim(m[2], "0") != "":
		return phaseGeneration
	}
	return ""
}

// measure computes the metrics of one window: of kernels and calls that start inside and of preparation that lies
// inside.
func (d *detector) measure(window interval.Span) Metrics {
	m := na()
	var exchange, launch int64
	busy := d.room[:0]
	for i, to := d.from(window.Start), d.from(window.End); i < to; i++ {
		e := d.t.LaneAt(event.LaneGPU, i)
		if e.Kind() != event.Kernel {
			continue
		}
		m.kernels++
		if d.names[e.NameID()] == nccl {
			exchange += spanOf(e).Len()
		}
		busy = append(busy, spanOf(e))
	}
	d.room = busy
	busy = interval.UnionInPlace(busy)
	work, hull := interval.Total(busy), interval.Hull(busy)
	wall := window.Len()
	m.GPUIdle, m.GPUUtilization, m.NCCL = ratio(wall-work, wall), ratio(work, wall), ratio(exchange, work)
	if d.known {
		for _, l := range d.launches {
			if window.Contains(l.Start) {
				launch += l.Len()
			}
		}
		m.LaunchOverhead = ratio(launch, wall)
	}
	for p := range prepPatterns {
		var total, exposed int64
		found := false
		for _, r := range d.prep {
			if r.pattern == p && r.span.Start >= window.Start && r.span.End <= window.End {
				found = true
				total += r.span.Len()
				exposed += hull.Clip(r.span).Len() - interval.Covered(busy, r.span)
			}
		}
		if found {
			m.PrepExposed, m.PrepImpact, m.PrepIdleAttribution = ratio(exposed, total), ratio(exposed, wall),
				ratio(exposed, wall-work)
			break
		}
	}
	return m
}
