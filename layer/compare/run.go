package compare

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/mask"
	"github.com/llmstrata/strata/layer"
)

// baselineSchema is the schema of a saved [Side].
const baselineSchema = "strata.baseline/1"

// Side is one of the two things that are compared: one run, or several of the same program, which then show how much runs differ by
// themselves. It is what --save keeps: a few kilobytes instead of traces.
type Side struct {
	Schema string `json:"schema"`
	Label  string `json:"label"`
	Runs   []Run  `json:"runs"`
}

// Run is one recording, reduced to what a comparison needs.
type Run struct {
	Trace     string `json:"trace"`
	Framework string `json:"framework"`
	GPU       string `json:"gpu"`
	// Rows name the parts of a pass, in the order of Pass.Rows.
	Rows   []RowName `json:"rows"`
	Passes []Pass    `json:"passes"`
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
	Operator string `json:"operator"`
	// Class is how the row's time behaves: "compute", "memory", "latency", "transfer" or "waiting".
	Class string `json:"class"`
	// Kernels are the names of its kernels, most time first, at most three.
	Kernels []string `json:"kernels"`
}

// Pass is one forward pass.
type Pass struct {
	Index  int         `json:"index"`
	Stage  layer.Stage `json:"stage"`
	Batch  int64       `json:"batch"`  // −1 unknown
	Tokens int64       `json:"tokens"` // −1 unknown
	// Start is in nanoseconds since the trace's first event, Wall the time to the start of the next pass where that follows.
	Start int64         `json:"start_ns"`
	Wall  time.Duration `json:"wall_ns"`
	// Rows are the times of the run's rows; they add up to Wall.
	Rows []time.Duration `json:"row_ns"`
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
		if err := cmp.Or(s.Runs[i].check(), s.Runs[i].Host.check()); err != nil {
			return nil, fmt.Errorf("%w: run %d: %w", errBaseline, i, err)
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
	for i := range r.Passes {
		p := &r.Passes[i]
		if i > 0 && p.Index <= r.Passes[i-1].Index || p.Index < 0 {
			return fmt.Errorf("pass %d is out of order", p.Index)
		}
		if err := p.check(len(r.Rows)); err != nil {
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

// Write saves a side. It is kept beside other people's work: it has names of
// files without their folders, and nothing that looks like a key.
func (s *Side) Write(w io.Writer) error {
	out := *s
	out.Schema, out.Runs = baselineSchema, slices.Clone(s.Runs)
	for i := range out.Runs {
		if r := &out.Runs[i]; filepath.IsAbs(r.Trace) {
			r.Trace = filepath.Base(r.Trace)
		}
	}
	m := mask.NewWriter(w)
	if err := json.NewEncoder(m).Encode(&out); err != nil {
		return err
	}
	return m.Flush()
}

var classNames = [...]string{compute: "compute", memory: "memory", latency: "latency", transfer: "transfer", waiting: "waiting", host: "host"}

var classNamed = map[string]class{"compute": compute, "memory": memory, "latency": latency, "transfer": transfer, "waiting": waiting, "host": host}
