package compare

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"time"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/internal/mask"
	"github.com/llmstrata/strata/layer"
)

// baselineSchema is the schema of a saved [Side].
const baselineSchema = "strata.baseline/1"

// Side is one of the two things that are compared: one run, or several of the same program, which then show how much runs differ by
// themselves. It is what --save keeps: a few kilobytes instead of traces.
type Side struct {
	Schema string `json:"schema"` // name and version of the document
	Label  string `json:"label"`  // name of the side, as the user gave it
	// Commit, Date and Tool say of which program a saved side is, when it was recorded, and what measured it; "" unknown.
	Commit string `json:"commit,omitempty"`
	Date   string `json:"date,omitempty"`
	Tool   string `json:"tool,omitempty"`
	Runs   []Run  `json:"runs"`
}

// Run is one recording, reduced to what a comparison needs.
type Run struct {
	Trace string `json:"trace"` // file that was read
	// Rank is that of the GPU among those that serve the model together. Ranks are the others of the same run (see [NewRun]).
	Rank      int    `json:"rank,omitempty"`
	Ranks     []Run  `json:"ranks,omitempty"`
	Framework string `json:"framework"` // serving framework, "" unknown
	GPU       string `json:"gpu"`       // the device's name, "" unknown
	// Rows name the parts of a pass, in the order of Pass.Rows.
	Rows []RowName `json:"rows"`
	// Kernels are the kernels that its passes run, in the order of KernelTime.Kernel; none in files of older versions, whose rows are all there is.
	Kernels []KernelName `json:"kernels,omitempty"`
	// Categories says that too few kernels have an operator for rows by operator.
	Categories bool `json:"categories,omitempty"`
	// Outside is the GPU time of kernels in no pass.
	Outside time.Duration `json:"outside_ns,omitempty"`
	// Models are those of the GPU, in the order of Pass.Model.
	Models []ModelName `json:"models,omitempty"`
	Passes []Pass      `json:"passes"`
	// Host is what the host does meanwhile, where that was measured.
	Host *Host `json:"host,omitempty"`
	// Clock is what the GPU ran at, nil where the trace does not tell.
	Clock *Clock `json:"clock,omitempty"`
	// Serving says in what the window does not show what the server does; who knows how the server was started fills it in.
	Serving []string `json:"serving,omitempty"`
	// Scrambled says that kernels carry the times of other kernels: those of a row tell nothing, those of the pass do.
	Scrambled bool `json:"scrambled,omitempty"`
	// Health is the trace's status: "ok", "degraded", "unusable".
	Health string `json:"health"`
}

// RowName is one part of a pass: an operator, idle time, waiting, what else there is.
type RowName struct {
	Operator string `json:"operator"` // part of the model that the kernels compute
	// Class is how the row's time behaves: "compute", "memory", "latency", "transfer" or "waiting".
	Class string `json:"class"`
	// Kernels are the names of its kernels, most time first, at most three.
	Kernels []string `json:"kernels"`
}

// ModelName is one of the models that a GPU runs.
type ModelName struct {
	Name   string `json:"name"`            // name of the model
	Draft  bool   `json:"draft,omitempty"` // it drafts tokens for another model
	Layers int    `json:"layers"`          // 0 unknown
}

// KernelName is a kernel as far as its operator is concerned: one name that computes two operators is two of them.
type KernelName struct {
	Name string `json:"name"` // as tables show it
	Base string `json:"base"` // without tile and size
	// Operator is "" where nothing says what it computes.
	Operator string `json:"operator"`
	Category string `json:"category"`
	// Op is the operation of the CPU that launched it, "" unknown.
	Op string `json:"op,omitempty"`
	// Before and After are the bases of the kernels that most often run before and after it.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Row is the row of the run that its time is in.
	Row int `json:"row"`
}

// KernelTime is what one pass spends on one kernel.
type KernelTime struct {
	Kernel int `json:"k"` // index in Run.Kernels
	Count  int `json:"n"` // launches in the pass
	// Exclusive is its part of the pass, in which each instant counts once; Time adds up its durations. Waiting for other ranks is in neither.
	Exclusive time.Duration `json:"ns"`
	Time      time.Duration `json:"kernel_ns"`
	// Wait is what else its durations hold: waiting for other ranks.
	Wait time.Duration `json:"wait_ns,omitempty"`
	// Floor is what their work takes at least on the GPU, 0 where that is not known.
	Floor time.Duration `json:"floor_ns,omitempty"`
	// Bytes and GFLOP are what it has to move and to compute, 0 unknown; Compute says that arithmetic limits it.
	Bytes   int64   `json:"bytes,omitempty"`
	GFLOP   float64 `json:"gflop,omitempty"`
	Compute bool    `json:"compute_bound,omitempty"`
	// Shape is M×N×K of its product, of the largest one where it has several; "" for others.
	Shape string `json:"shape,omitempty"`

	largest int64 // product of Shape
}

// RowTime is the time of one row.
type RowTime struct {
	Row  int           `json:"row"` // index in Run.Rows
	Time time.Duration `json:"ns"`  // time of the row
}

// Pass is one forward pass.
type Pass struct {
	Index int `json:"index"` // place in the trace, from 0
	// Trace is the file that it is of where that is not the run's.
	Trace string `json:"trace,omitempty"`
	// Model is the index of its model in Run.Models.
	Model     int `json:"model"`
	NumLayers int `json:"layers"`
	// Partial says which end of it the window cuts off, "" for none.
	Partial string      `json:"partial,omitempty"`
	Stage   layer.Stage `json:"stage"`
	Batch   int64       `json:"batch"`  // −1 unknown
	Tokens  int64       `json:"tokens"` // −1 unknown
	// Start is in nanoseconds since the trace's first event, Wall the time to the start of the next pass where that follows.
	Start int64         `json:"start_ns"`
	Wall  time.Duration `json:"wall_ns"`
	// Rows are the times of the run's rows; they add up to Wall.
	Rows []time.Duration `json:"row_ns"`
	// Kernels are the times of the run's kernels, without those that the pass does not run.
	Kernels []KernelTime `json:"kernels,omitempty"`
	// Launches are the kernels of each row.
	Launches []int `json:"launches"`
	// Layers are the times of each row by layer, where the run has too few passes to show how they vary; else none.
	Layers [][]time.Duration `json:"layer_ns,omitempty"`
	// PerLayer is the time of all kernels of each layer, by its number.
	PerLayer []time.Duration `json:"per_layer_ns,omitempty"`
	// Graph is the share of the pass's kernels that graph replays launched.
	Graph float64 `json:"graph_share"`
	// Compiled is the share of the pass's kernels that a compiler wrote.
	Compiled float64 `json:"compiled_share"`
	// Followed says that its time ends where the next pass begins, Tail is what of its rows lies behind its last kernel, by row: both are needed to hold
	// passes against those at the end of a window.
	Followed bool      `json:"followed,omitempty"`
	Tail     []RowTime `json:"tail,omitempty"`
	// First says that the pass before is of another stage: it often differs from those that follow.
	First bool `json:"first,omitempty"`
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
	rows := map[string]bool{}
	for _, n := range r.Rows {
		if _, ok := classNamed[n.Class]; !ok {
			return fmt.Errorf("row %q has the class %q", n.Operator, n.Class)
		}
		if rows[n.Operator] {
			return fmt.Errorf("there are two rows %q", n.Operator)
		}
		rows[n.Operator] = true
	}
	if r.Outside < 0 || r.Outside > maxTime {
		return fmt.Errorf("%d ns are outside of passes", r.Outside)
	}
	for _, k := range r.Kernels {
		if k.Row < 0 || k.Row >= len(r.Rows) {
			return fmt.Errorf("kernel %q is in row %d of %d", k.Name, k.Row, len(r.Rows))
		}
	}
	for i := range r.Passes {
		p := &r.Passes[i]
		if i > 0 && p.Index <= r.Passes[i-1].Index || p.Index < 0 {
			return fmt.Errorf("pass %d is out of order", p.Index)
		}
		if err := cmp.Or(p.check(len(r.Rows)), p.checkKernels(r)); err != nil {
			return err
		}
	}
	return nil
}

// check refuses a pass of a run of so many rows whose figures can not be.
func (p *Pass) check(rows int) error {
	if len(p.Rows) != rows || len(p.Launches) != rows || len(p.Layers) != 0 && len(p.Layers) != rows {
		return fmt.Errorf("pass %d has %d times, %d launches and %d rows of layers for %d rows", p.Index, len(p.Rows), len(p.Launches), len(p.Layers), rows)
	}
	var sum time.Duration
	for _, d := range p.Rows {
		sum += d
	}
	for _, d := range slices.Concat(p.Rows, p.PerLayer, slices.Concat(p.Layers...)) {
		if d < 0 || d > maxTime {
			return fmt.Errorf("pass %d has a time of %d ns", p.Index, d)
		}
	}
	if sum != p.Wall {
		return fmt.Errorf("the rows of pass %d add up to %d ns, its wall time is %d ns", p.Index, sum, p.Wall)
	}
	for _, n := range p.Launches {
		if n < 0 {
			return fmt.Errorf("pass %d has %d launches in a row", p.Index, n)
		}
	}
	for _, share := range []float64{p.Graph, p.Compiled} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("pass %d has a share of kernels of %v, want 0 to 1", p.Index, share)
		}
	}
	return nil
}

// checkKernels refuses kernels that a run does not have, and times that its rows do not hold.
func (p *Pass) checkKernels(r *Run) error {
	for i, k := range p.Kernels {
		if k.Kernel < 0 || k.Kernel >= len(r.Kernels) || i > 0 && k.Kernel <= p.Kernels[i-1].Kernel {
			return fmt.Errorf("pass %d has kernel %d out of order", p.Index, k.Kernel)
		}
		if k.Count < 0 || k.Exclusive < 0 || k.Exclusive > maxTime || k.Time < 0 || k.Time > maxTime || k.Wait < 0 || k.Wait > maxTime || k.Floor < 0 || k.Floor > maxTime || k.Bytes < 0 || !(k.GFLOP >= 0) || math.IsInf(k.GFLOP, 0) {
			return fmt.Errorf("pass %d has kernel %d %d times in %d ns", p.Index, k.Kernel, k.Count, k.Time)
		}
	}
	rest := p.rest(r)
	for i, t := range p.Tail {
		if t.Row < 0 || t.Row >= len(r.Rows) || i > 0 && t.Row <= p.Tail[i-1].Row || t.Time < 0 || t.Time > rest[t.Row] {
			return fmt.Errorf("pass %d has %d ns of row %d behind it", p.Index, t.Time, t.Row)
		}
	}
	for row, d := range rest {
		if d < 0 {
			return fmt.Errorf("kernels of row %d take longer than the row in pass %d", row, p.Index)
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

var classNames = [...]string{compute: "compute", memory: "memory", latency: "latency", transfer: "transfer", waiting: "waiting", host: "host"}

var classNamed = map[string]class{"compute": compute, "memory": memory, "latency": latency, "transfer": transfer, "waiting": waiting, "host": host}
