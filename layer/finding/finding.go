package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/table"
)

// Finding is one thing that costs time, that changed, or that puts figures in
// doubt. Its four parts are the problem (Text), the evidence (Evidence, Place,
// Confidence), the fix (Advice) and the gain (Size).
type Finding struct {
	Kind Kind `json:"kind"` // what sort of finding it is
	// Cause is why the GPU is idle. It is NoCause unless Kind is IdleTime.
	Cause Cause `json:"cause,omitempty"`
	// Code separates findings of one kind and stays the same from run to run: an operator, a fused path, a
	// category, the code of a doubt or of a remark on a trace's health. It is "" where the kind has one finding a stage.
	Code string `json:"code,omitempty"`
	// Text is the problem in at most ten words, without figures.
	Text string `json:"text"`
	// Evidence is one sentence with the figures that the finding rests on. It is "" where Size says all.
	Evidence string `json:"evidence,omitempty"`
	Size
	// Stage is that of the steps that PerStep is a mean over; "" for steps of every stage.
	Stage Stage `json:"stage,omitempty"`
	Place Place `json:"place"`
	// Where is the place in words, as an analysis says it best; "" where Place says all.
	Where string `json:"where,omitempty"`
	// Confidence is the band that the analysis puts the finding in; BandUnknown where it does not judge.
	Confidence Band `json:"confidence,omitempty"`
	// Gains are what steps would take without what the finding is about, as far as a replay of them can say so.
	Gains []Gain `json:"gains,omitempty"`
	Advice
}

// Sentence is what a finding says with its figures, as far as it has any.
func (f *Finding) Sentence() string { return cmp.Or(f.Evidence, f.Text) }

// Size is how much time a finding is about. The zero Size says that it has none.
type Size struct {
	// Measure says what the times are: the largest possible gain, what something takes, or by how much it changed.
	Measure Measure `json:"measure"`
	// PerStep is the mean over all steps of the finding's stage, negative for a change that makes steps faster.
	PerStep time.Duration `json:"per_step_ns"`
	// Model is the model whose steps alone PerStep is the mean over; "" for all.
	Model string `json:"step_model,omitempty"`
	// Mixed says that the steps are of several models: their mean is that of no step, and texts have the sum.
	Mixed bool `json:"mixed_models,omitempty"`
	// Total is the sum over the steps of one GPU. Findings are ranked by it.
	Total time.Duration `json:"total_ns"`
	// Share is Total as a part of the time that Of names, 0…1.
	Share float64 `json:"share"`
	Of    Basis   `json:"share_of"`
	// GPUs is how many GPUs PerStep, Total and Share are the mean of; 0, and absent in JSON, for one.
	GPUs int `json:"gpus,omitempty"`
}

// SizeOf returns the size of total ns in n steps that take wall together. A step that the window cuts counts as a part.
func SizeOf(m Measure, of Basis, total time.Duration, n float64, wall time.Duration) Size {
	s := Size{Measure: m, Total: total, Of: of}
	switch {
	case n == 1: // a float does not hold the longest times
		s.PerStep = total
	case n > 0:
		s.PerStep = time.Duration(float64(total) / n)
	}
	if wall > 0 {
		s.Share = float64(total) / float64(wall)
	}
	return s
}

// OfGPUs returns the mean of n GPUs of a size whose Total adds them up.
func (s Size) OfGPUs(n int) Size {
	if n > 1 {
		s.Total, s.GPUs = s.Total/time.Duration(n), n
	}
	return s
}

// Place is where a finding is. The zero Place is nowhere in particular. Fields that are not known are nil or empty.
type Place struct {
	// Trace is the file, as the program was given it.
	Trace  string `json:"trace,omitempty"`
	Device *int   `json:"device,omitempty"`
	// Pass and Layer are indices, as package layer counts them.
	Pass     *int   `json:"pass,omitempty"`
	Layer    *int   `json:"layer,omitempty"`
	Operator string `json:"operator,omitempty"`
	Kernel   string `json:"kernel,omitempty"`
	// Name is the range, Python frame or API call.
	Name string `json:"name,omitempty"`
	// Line is a source line, "path:line func".
	Line string `json:"line,omitempty"`
	// Start and End bound a time range since the trace's first event. End is 0 where none is known.
	Start time.Duration `json:"start_ns,omitempty"`
	End   time.Duration `json:"end_ns,omitempty"`
}

// String names pass, layer, operator, kernel and line, as far as they are known.
func (p Place) String() string {
	var out []string
	if p.Pass != nil {
		out = append(out, fmt.Sprintf("pass %d", *p.Pass))
	}
	if p.Layer != nil {
		out = append(out, fmt.Sprintf("layer %d", *p.Layer))
	}
	return strings.Join(append(out, table.Known(p.Operator, p.Kernel, p.Name, p.Line)...), ", ")
}

// At returns an index for [Place].
func At(i int) *int { return &i }

// Advice is what to do about a finding. The zero Advice is none.
type Advice struct {
	// Do is one imperative sentence with the flag, setting or command.
	Do string `json:"do,omitempty"`
	// Source is the document in which the flag or setting is described, "" for general advice.
	Source string `json:"source,omitempty"`
	// Next is the command line that shows more.
	Next string `json:"next,omitempty"`
}

// doubt is how far the finding puts figures in doubt: as far as its kind does, or as little as any kind where it is a
// doubt that leaves a verdict low confidence.
func (f *Finding) doubt() int {
	if f.Kind == Doubt && f.Confidence == Low {
		return 1
	}
	return f.Kind.Info().Doubt
}

// Rank sorts findings: those that put figures in doubt first, then by Total, the largest first, then what only takes
// time. The order of equal ones stays.
func Rank(list []Finding) {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(b.doubt(), a.doubt()),
			cmp.Compare(stat.Int(a.Measure == Taken), stat.Int(b.Measure == Taken)),
			cmp.Compare(b.Total.Abs(), a.Total.Abs()))
	})
}
