package programs

import (
	"io"
	"reflect"
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// ExportedRow is one GPU activity, with the names that other tools rely on.
type ExportedRow struct {
	Index       int    `json:"index"`       // place in the output
	Start       int64  `json:"ts_ns"`       // since the trace's first event
	Duration    int64  `json:"dur_ns"`      // length
	Device      int64  `json:"device"`      // number of the GPU
	Stream      int64  `json:"stream"`      // number of the stream
	Kind        string `json:"kind"`        // kernel, memcpy, memset, or graph for a replay in one row
	Pass        int    `json:"pass"`        // −1 outside any
	Layer       int    `json:"layer"`       // −1 outside any
	Half        string `json:"half"`        // attn, ffn or full within a layer
	Stage       string `json:"stage"`       // prefill, decode, mixed
	Category    string `json:"category"`    // category of the kernels, see docs/categories.md
	Name        string `json:"name"`        // as recorded
	Canonical   string `json:"canonical"`   // what the kernel tables merge by
	CPUOp       string `json:"cpu_op"`      // innermost op around the launch
	Location    string `json:"location"`    // path:line func, with --stacks
	Module      string `json:"module"`      // Outer_0/Inner_3, with --module
	Correlation uint64 `json:"correlation"` // 0 for none
	Graph       int    `json:"graph"`       // 1 for a replayed activity

	Operator           string  `json:"operator"`            // part of the model, see docs/operators.md
	Part               string  `json:"part"`                // main, quant, reduce, copy; empty for other
	OperatorConfidence float64 `json:"operator_confidence"` // 0…1
	ModelLine          string  `json:"model_line"`          // path:line func in a model's file, with --stacks

	// What the operator has to do, by the model's config or the recorded inputs of its op: at the kernel that takes
	// most of its time. What is not known is 0 here, absent in JSON, and an empty cell of CSV.
	Tokens    int64   `json:"tokens"`      // of the pass; −1 unknown
	M         int64   `json:"m,omitempty"` // sizes of a product
	N         int64   `json:"n,omitempty"`
	K         int64   `json:"k,omitempty"`
	GFLOP     float64 `json:"gflop,omitempty"`      // 10⁹ operations, at least
	Bytes     int64   `json:"bytes,omitempty"`      // weights, cache and activations, at least
	Floor     int64   `json:"floor_ns,omitempty"`   // what it takes at least
	Bound     string  `json:"bound"`                // memory, compute, link, latency; empty without a floor
	PeakShare float64 `json:"peak_share,omitempty"` // floor by the time of all kernels of the operator
	Grid      string  `json:"grid"`                 // 132x1x1, as launched
	Block     string  `json:"block"`

	// 1 is the last layer of a pass whose first ones the window does not hold: layer is −1 there; else 0
	LayerFromEnd int `json:"layer_from_end"`

	FloorBasis string `json:"floor_basis"` // what floor_ns rests on, or why there is none
	// what joins the activity with its launch: correlation, flow, external-id, graph-id, op-external-id; empty for none
	Link string `json:"link"`
}

// exportColumns are the fields of a row, which are the columns of CSV.
var exportColumns = reflect.VisibleFields(reflect.TypeFor[ExportedRow]())

// csvWriter writes comma-separated values under the header.
type csvWriter struct {
	*table.CSV
	safe  bool              // texts of the trace are made harmless
	cells map[string]string // what texts are written as
}

// newCSV writes the header and returns the writer of rows.
func newCSV(w io.Writer, safe bool) csvWriter {
	c := csvWriter{table.NewCSV(w), safe, map[string]string{}}
	for _, f := range exportColumns {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		c.String(name)
	}
	_ = c.End() // the first row has its error, too
	return c
}

// write leaves a cell empty where JSON has no field: of a figure that is 0 where it is not known.
func (c csvWriter) write(r *ExportedRow) error {
	row := reflect.ValueOf(r).Elem()
	for i := range exportColumns {
		switch v := row.Field(i); {
		case v.Kind() == reflect.String:
			c.text(v.String())
		case v.IsZero() && strings.HasSuffix(string(exportColumns[i].Tag), `,omitempty"`):
			c.String("")
		case v.CanInt():
			c.Int(v.Int())
		case v.CanUint():
			c.Uint(v.Uint())
		default:
			c.Float(v.Float())
		}
	}
	return c.End()
}

// formulaStarts are the first characters by which spreadsheets take a cell for a
// formula, which may start programs.
const formulaStarts = "=+-@\t\r"

// maxCells bounds the texts that a writer remembers: traces have few, many times each.
const maxCells = 1 << 14

// text writes a text of the trace, or of the model that it names. Where the
// writer is safe, control characters are replaced, and what a spreadsheet would
// take for a formula is quoted as spreadsheets do.
func (c csvWriter) text(s string) {
	cell, ok := c.cells[s]
	if !ok {
		if cell = s; c.safe && s != "" {
			formula := strings.IndexByte(formulaStarts, s[0]) >= 0
			if cell = table.Clean(s); formula || strings.IndexByte(formulaStarts, cell[0]) >= 0 {
				cell = "'" + cell
			}
		}
		if len(c.cells) == maxCells {
			clear(c.cells)
		}
		cell = table.Quoted(cell)
		c.cells[s] = cell
	}
	c.Cell(cell)
}
