package compare

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/internal/mask"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// baselineSchema is the schema of a saved [Side].
const baselineSchema = "strata.baseline/2"

// Side is one of the two things that are compared: one run, or several of the same program, which then show how much
// runs differ by themselves. It is what --save keeps: a few kilobytes instead of traces.
type Side struct {
	Schema string `json:"schema"` // name and version of the document
	Label  string `json:"label"`  // name of the side, as the user gave it
	// Commit, Date and Tool are a saved side's program, time of recording and measuring tool; ""
	// unknown.
	Commit string `json:"commit,omitempty"`
	Date   string `json:"date,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Runs   []Run  `json:"runs"`
}

// Run is one recording, reduced to what a comparison needs.
type Run struct {
	Trace string `json:"trace"` // file that was read
	// Rank is that of the GPU among those that serve the model together. Ranks are the others of the same run (see
	// [NewRun]).
	Rank      int    `json:"rank,omitempty"`
	Ranks     []Run  `json:"ranks,omitempty"`
	Framework string `json:"framework"` // serving framework, "" unknown
	GPU       string `json:"gpu"`       // the device's name, "" unknown
	// Parts are what its passes spend time on, in the order of PartTime.Part.
	Parts []Part `json:"parts"`
	// Categories says that too few kernels have an operator for rows by operator.
	Categories bool `json:"categories,omitempty"`
	// Outside is the GPU time of kernels in no pass.
	Outside time.Duration `json:"outside_ns,omitempty"`
	// Models are those of the GPU, in the order of Pass.Model.
	Models []ModelName `json:"models,omitempty"`
	Passes []Pass      `json:"passes"`
	// Host is what the host does meanwhile, where that was measured.
	Host *Host `json:"host,omitempty"`
	// Clock is what the GPU ran at, nil if the trace does not show it.
	Clock *Clock `json:"clock,omitempty"`
	// Serving says in what the window does not show what the server does; who knows how the server was started fills
	// it in.
	Serving []string `json:"serving,omitempty"`
	// Scrambled says that kernels carry the times of other kernels: rows have no meaning then, passes do.
	Scrambled bool `json:"scrambled,omitempty"`
	// OneRow says which activity makes much of the GPU time by itself, "" for none.
	OneRow string `json:"one_row,omitempty"`
	// Health is the trace's status.
	Health trace.HealthStatus `json:"health"`
}

// ModelName is one of the models that a GPU runs.
type ModelName struct {
	Name   string     `json:"name"`            // name of the model
	Draft  bool       `json:"draft,omitempty"` // it drafts tokens for another model
	Role   layer.Role `json:"role,omitempty"`  // what it is to the run
	Layers int        `json:"layers"`          // 0 unknown
}

// model is that of a pass, nothing known where the run does not list it.
func (r *Run) model(p *Pass) ModelName {
	if p.Model < 0 || p.Model >= len(r.Models) {
		return ModelName{}
	}
	return r.Models[p.Model]
}

// Part is a kernel as far as one operator is concerned (a name that computes two operators is two parts), or what a
// pass spends without a kernel of its own: idle time, waiting.
type Part struct {
	Name string `json:"name"` // as tables show it
	Base string `json:"base"` // without tile and size
	// Operator is "" where nothing says what it computes.
	Operator string `json:"operator"`
	Category string `json:"category"` // of the kernel; "" for time without one
	Class    Class  `json:"class"`
	// Op is the operation of the CPU that launched it, "" unknown.
	Op string `json:"op,omitempty"`
	// Before and After are the bases of the kernels that most often run before and after it.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// isKernel says whether the part is a kernel.
func (p *Part) isKernel() bool { return p.Category != "" }

// PartTime is what one pass spends on one part.
type PartTime struct {
	Part  int `json:"part"` // index in Run.Parts
	Count int `json:"n"`    // launches in the pass
	// Exclusive is its share of the pass, in which each instant counts once; Time adds up the durations of a kernel.
	// Waiting for other ranks is in neither, and a part of its own.
	Exclusive time.Duration `json:"ns"`
	Time      time.Duration `json:"kernel_ns,omitempty"`
	// Wait is what else its durations hold: waiting for other ranks.
	Wait time.Duration `json:"wait_ns,omitempty"`
	// Tail is the part of Exclusive after the last kernel of the pass.
	Tail time.Duration `json:"tail_ns,omitempty"`
	// Floor is what their work takes at least on the GPU, 0 where that is not known.
	Floor time.Duration `json:"floor_ns,omitempty"`
	// Bytes and GFLOP are what it has to move and to compute, 0 unknown; Compute says that arithmetic limits it.
	Bytes   int64   `json:"bytes,omitempty"`
	GFLOP   float64 `json:"gflop,omitempty"`
	Compute bool    `json:"compute_bound,omitempty"`
	// Shape is M×N×K of its product, of the largest one where it has several; "" for others.
	Shape string `json:"shape,omitempty"`
	// Layers are its times by number of the layer, where the run has too few passes to show how they vary; else none.
	Layers []time.Duration `json:"layer_ns,omitempty"`

	largest int64 // product of Shape
}

// Pass is one forward pass.
type Pass struct {
	Index int `json:"index"` // place in the trace, from 0
	// Trace is the file that it is of where that is not the run's.
	Trace string `json:"trace,omitempty"`
	// Model is the index of its model in Run.Models.
	Model     int `json:"model"`
	NumLayers int `json:"layers"`
	// Partial says which end of it the window cuts off, "" for none. Lost is how many records of kernels are missing.
	Partial string      `json:"partial,omitempty"`
	Lost    int         `json:"lost,omitempty"`
	Stage   layer.Stage `json:"stage"`
	Batch   int64       `json:"batch"`  // −1 unknown
	Tokens  int64       `json:"tokens"` // −1 unknown
	// Start is in nanoseconds since the trace's first event, Wall the time to the start of the next pass where that
	// follows.
	Start int64         `json:"start_ns"`
	Wall  time.Duration `json:"wall_ns"`
	// Parts are what the pass spends time on, by Part; Exclusive adds up to Wall.
	Parts []PartTime `json:"parts"`
	// Graph is the share of the pass's kernels that graph replays launched.
	Graph float64 `json:"graph_share"`
	// Compiled is the share of the pass's kernels that a compiler wrote.
	Compiled float64 `json:"compiled_share"`
	// Followed says that its time ends where the next pass begins.
	Followed bool `json:"followed,omitempty"`
	// First says that the pass before is of another stage: it often differs from those that follow.
	First bool `json:"first,omitempty"`
}

// kernels calls yield with what the pass spends on each kernel.
func (p *Pass) kernels(r *Run) iter.Seq2[*Part, *PartTime] {
	return func(yield func(*Part, *PartTime) bool) {
		for i := range p.Parts {
			if of := &r.Parts[p.Parts[i].Part]; of.isKernel() && !yield(of, &p.Parts[i]) {
				return
			}
		}
	}
}

// errBaseline is wrapped where a saved side cannot be read.
var errBaseline = errors.New("not a saved comparison side")

// maxBaseline bounds a saved side: a hundred thousand passes of sixty rows.
const maxBaseline = 256 << 20

// maxTime is the longest time of a saved side: twelve days, whose sums over all that a file can hold do not overflow.
const maxTime = 1 << 50

// ReadSide reads what [Side.Write] wrote.
func ReadSide(r io.Reader) (*Side, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBaseline+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errBaseline, err)
	}
	if len(data) > maxBaseline {
		return nil, fmt.Errorf("%w: larger than %d bytes", errBaseline, maxBaseline)
	}
	var s Side
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("%w: %w", errBaseline, err)
	}
	if s.Schema != baselineSchema {
		return nil, fmt.Errorf("%w: its schema is %q, want %q", errBaseline, s.Schema, baselineSchema)
	}
	for i := range s.Runs {
		for _, r := range append([]Run{s.Runs[i]}, s.Runs[i].Ranks...) {
			if err := cmp.Or(r.check(), r.Host.check()); err != nil {
				return nil, fmt.Errorf("%w: run %d: %w", errBaseline, i, err)
			}
		}
	}
	return &s, nil
}

// check refuses a run whose parts do not fit together.
func (r *Run) check() error {
	if bad(r.Outside) {
		return fmt.Errorf("%d ns are outside of passes", r.Outside)
	}
	for i := range r.Passes {
		p := &r.Passes[i]
		if i > 0 && p.Index <= r.Passes[i-1].Index || p.Index < 0 {
			return fmt.Errorf("pass %d is out of order", p.Index)
		}
		if err := p.check(len(r.Parts)); err != nil {
			return fmt.Errorf("pass %d: %w", p.Index, err)
		}
	}
	return nil
}

// bad reports whether a time cannot be.
func bad(d time.Duration) bool { return d < 0 || d > maxTime }

// check refuses a pass of a run of so many parts whose figures can not be.
func (p *Pass) check(parts int) error {
	var sum time.Duration
	for i, t := range p.Parts {
		if t.Part < 0 || t.Part >= parts || i > 0 && t.Part <= p.Parts[i-1].Part {
			return fmt.Errorf("part %d of %d is out of order", t.Part, parts)
		}
		if t.Count < 0 || slices.ContainsFunc([]time.Duration{t.Exclusive, t.Time, t.Wait, t.Floor, t.Tail}, bad) ||
			slices.ContainsFunc(t.Layers, bad) || t.Tail > t.Exclusive || t.Bytes < 0 ||
			!(t.GFLOP >= 0) || math.IsInf(t.GFLOP, 0) {
			return fmt.Errorf("part %d takes %d ns in %d launches", t.Part, t.Time, t.Count)
		}
		sum += t.Exclusive
	}
	if sum != p.Wall {
		return fmt.Errorf("its parts add up to %d ns, its wall time is %d ns", sum, p.Wall)
	}
	for _, share := range []float64{p.Graph, p.Compiled} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("a share of kernels of %v, want 0 to 1", share)
		}
	}
	return nil
}

// Write saves a side. It is kept beside other people's work: it has names of
// files without their folders, and nothing that looks like a key.
func (s *Side) Write(w io.Writer) error {
	out := *s
	out.Schema, out.Runs = baselineSchema, slices.Clone(s.Runs)
	for i := range out.Runs {
		out.Runs[i].withoutFolders()
	}
	m := mask.NewWriter(w)
	if err := json.NewEncoder(m).Encode(&out); err != nil {
		return err
	}
	return m.Flush()
}

// withoutFolders leaves of a run's files their names. The run is a copy, what it holds is not.
func (r *Run) withoutFolders() {
	bare := func(path string) string {
		if filepath.IsAbs(path) {
			return filepath.Base(path)
		}
		return path
	}
	r.Trace, r.Ranks, r.Passes = bare(r.Trace), slices.Clone(r.Ranks), slices.Clone(r.Passes)
	for i := range r.Passes {
		r.Passes[i].Trace = bare(r.Passes[i].Trace)
	}
	for i := range r.Ranks {
		r.Ranks[i].withoutFolders()
	}
}
