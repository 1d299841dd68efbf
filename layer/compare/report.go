package compare

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
)

// schema is the schema of a [Report] as JSON.
const schema = "strata.compare/4"

// ErrNoMatch is wrapped where a side has no runs.
var ErrNoMatch = errors.New("no passes to compare")

// Options say how to compare. The zero Options are the default.
type Options struct {
	// Stages are the stages whose passes are compared. Nil: any.
	Stages []layer.Stage
	// PerToken compares time per token where no passes have equal sizes: side B is scaled to the tokens of side A.
	PerToken bool
	// Floor is the relative standard deviation between two runs where it is known. Zero: assumed.
	Floor float64
	// Gates are conditions to judge: What and Limit of each.
	Gates []Gate
	// Allow are the codes of doubts that do not prevent a verdict (see [DoubtCode]).
	Allow []DoubtCode
	// HostChange is the share of a step from which on a change of the host makes a conclusion (see [HostReport]).
	// Zero: 0.03, what two runs of one server differ by.
	HostChange float64

	runs bool // the run is the unit, also where a side has one
}

// Report is what differs. It is a document: its JSON form is stable.
type Report struct {
	Schema  string  `json:"schema"`  // name and version of the document
	Verdict Outcome `json:"verdict"` // the answer
	// Text is the verdict in one sentence.
	Text string  `json:"text"`
	A    Summary `json:"a"`
	B    Summary `json:"b"`
	// Delta is B's mean pass minus A's; the rows add up to it. Work is the same without waiting and idle time, with
	// its 95% interval.
	Delta time.Duration `json:"delta_ns"`
	Work  Interval      `json:"work"`
	// Wall is the step with its 95% interval; WallJudged is false where too few passes show how waiting varies.
	Wall       Interval `json:"wall"`
	WallJudged bool     `json:"wall_judged"`
	// Likeness is the share of their kernels or of their time that the compared passes have in common. MatchedA and
	// MatchedB are the shares of each side's GPU time in passes that have a partner; Left names what has none.
	Likeness float64 `json:"likeness"`
	MatchedA float64 `json:"matched_a"`
	MatchedB float64 `json:"matched_b"`
	Rows     []Row   `json:"rows"`
	// Waterfall is the step in a few parts that add up to Delta, too, each judged.
	Waterfall []Row `json:"waterfall"`
	// Ranks are the comparisons of each rank that both sides have, where there are several; the rest of the report is
	// about the slowest of each side.
	Ranks []Other `json:"ranks,omitempty"`
	// Others are further passes that both sides have, in short.
	Others []Other `json:"others"`
	// Doubts are reasons why the comparison may say nothing of the program. Their codes are [DoubtCode]s, Where is
	// the side, "" for both.
	Doubts []finding.Finding `json:"doubts"`
	// Allowed are the codes of doubts that do not prevent a verdict.
	Allowed []DoubtCode `json:"allowed"`
	// Findings are the rows that are beyond noise, largest first, and what else is worth saying.
	Findings []finding.Finding `json:"findings"`
	// Floor is the relative standard deviation between runs that was reckoned with, and FloorFrom says where it is
	// from.
	Floor float64 `json:"floor"`
	// WaitFloor is that of waiting and idle time between kernels that the host launches one by one, 0 where none is
	// assumed.
	WaitFloor float64 `json:"wait_floor,omitempty"`
	// Least is the smallest difference that is a finding.
	Least     time.Duration `json:"least_ns"`
	FloorFrom string        `json:"floor_from"`
	// Host is what differs in what the host does, nil where that was not measured on both sides.
	Host *HostReport `json:"host,omitempty"`
	// First is what to look at first: the worst clear change for the worse, the step if only its total is clearly
	// slower, of no kind where nothing is.
	First finding.Finding `json:"first_target"`
	Left  []string        `json:"left_out"`
	Notes []string        `json:"notes"`
	Gates []Gate          `json:"gates"`

	uniform bool    // all kernels changed by one factor
	shiftP  float64 // that they did not
}

// Summary is one side in short.
type Summary struct {
	Label     string      `json:"label"`            // name of the side
	Trace     string      `json:"trace"`            // file that was read
	Framework string      `json:"framework"`        // serving framework, "" unknown
	GPU       string      `json:"gpu"`              // the device's name, "" unknown
	Commit    string      `json:"commit,omitempty"` // of a saved side
	Date      string      `json:"date,omitempty"`   // when it was recorded, "" unknown
	Runs      int         `json:"runs"`             // recordings of the side
	Rank      int         `json:"rank"`             // of the first run
	Passes    int         `json:"passes"`           // passes compared
	Stage     layer.Stage `json:"stage"`            // what the pass does
	Batch     int64       `json:"batch"`            // requests, −1 unknown
	Tokens    int64       `json:"tokens"`           // tokens, −1 unknown
	// Start is where the first compared pass begins, in nanoseconds since the trace's first event.
	Start int64         `json:"start_ns"`
	Wall  time.Duration `json:"wall_ns"` // mean
	// Graph is the share of its kernels that graph replays launch, Compiled the share that a compiler wrote; the
	// others are launched one by one.
	Graph    float64 `json:"graph_share"`
	Compiled float64 `json:"compiled_share"`
}

// Interval is a difference with its 95% interval.
type Interval struct {
	A     time.Duration `json:"a_ns"`     // mean on side A
	B     time.Duration `json:"b_ns"`     // mean on side B
	Delta time.Duration `json:"delta_ns"` // B minus A
	Low   time.Duration `json:"low_ns"`   // lower end of the 95% interval of the difference
	High  time.Duration `json:"high_ns"`  // upper end of the 95% interval of the difference
}

// sign is that of all that the interval holds, 0 where that may be either.
func (i *Interval) sign() int {
	switch {
	case i.Low > 0:
		return 1
	case i.High < 0:
		return -1
	}
	return 0
}

// Row is one part of the pass on both sides, as means over passes.
type Row struct {
	Operator string `json:"operator"` // part of the model that the kernels compute
	Interval
	// Significant says that the difference is a finding.
	Significant bool `json:"significant"`
	// Class is how its time behaves, see [Part].
	Class Class `json:"class"`
	// KernelA and KernelB add up the durations of its kernels. That is what a row is judged on, and what Low and High
	// are around: A and B are its parts of the step, in which an instant of two kernels counts once, for the one that
	// started first.
	KernelA time.Duration `json:"a_kernel_ns"`
	KernelB time.Duration `json:"b_kernel_ns"`
	// Because says in a phrase what a change comes from: launches, their rate, other kernels, single passes; "" where
	// nothing changed.
	Because string `json:"because,omitempty"`
	// WorkA and WorkB are what it has to do, as far as that is known.
	WorkA Work `json:"a_work"`
	WorkB Work `json:"b_work"`
	// Found is what is known in a word: "new", "removed", "yes", "not judged", "not clear" where the difference would
	// be a finding but may be noise, else "". Text says what the difference is in a sentence.
	Found  string `json:"found"`
	Text   string `json:"text"`
	Status Change `json:"status"`
	// Seen is the smallest change of this row that would have been found.
	Seen time.Duration `json:"seen_ns"`
	// Judged is false where nothing may be said: waiting and idle time of too few passes.
	Judged    bool    `json:"judged"`
	LaunchesA float64 `json:"launches_a"`
	LaunchesB float64 `json:"launches_b"`
	// Kernels are all kernels of the row in the compared passes, most time first.
	Kernels []KernelDelta `json:"kernels"`
	// TimesA and TimesB are the row's times of each pass; of each run its median where both sides have several.
	TimesA []time.Duration `json:"times_a_ns"`
	TimesB []time.Duration `json:"times_b_ns"`

	briefs briefs  // of the kernels of all rows
	p      float64 // that nothing changed
}

// kernelDelta is the difference that a row is judged on.
func (r *Row) kernelDelta() time.Duration { return r.KernelB - r.KernelA }

// Names are the kernels of the row that a side runs, most time first: 0 is A, 1 is B.
func (r *Row) Names(side int) []string {
	time := func(k KernelDelta) time.Duration { return [2]time.Duration{k.A, k.B}[side] }
	var out []string
	for _, k := range slices.SortedStableFunc(slices.Values(r.Kernels),
		func(x, y KernelDelta) int { return cmp.Compare(time(y), time(x)) }) {
		switch {
		case [2]float64{k.LaunchesA, k.LaunchesB}[side] == 0:
		case side == 0 && k.Was != "":
			out = append(out, k.Was)
		default:
			out = append(out, k.Name)
		}
	}
	return out
}

// kernelUse is what a pass spends on kernels of one name, in the mean.
type kernelUse struct {
	name, category string
	launches       float64
	time, wait     time.Duration
	work           Work
	times          []float64 // of each pass, or of each run its median
}

// KernelDelta is one kernel of a row on both sides, as means of a pass.
type KernelDelta struct {
	Name string `json:"name"` // kernel on side B
	// Was is its name on side A where that is another one.
	Was       string        `json:"was,omitempty"`
	Category  string        `json:"category"` // of the kernel, as package classify has it
	LaunchesA float64       `json:"launches_a"`
	LaunchesB float64       `json:"launches_b"`
	A         time.Duration `json:"a_kernel_ns"`
	B         time.Duration `json:"b_kernel_ns"`
	// WaitA and WaitB are what its durations hold besides: waiting for other ranks.
	WaitA time.Duration `json:"a_wait_ns,omitempty"`
	WaitB time.Duration `json:"b_wait_ns,omitempty"`
	// Low and High are the 95% interval of B − A, Judged, Significant and Status as those of a [Row], among all
	// kernels.
	Low         time.Duration `json:"low_ns"`
	High        time.Duration `json:"high_ns"`
	Judged      bool          `json:"judged"`
	Significant bool          `json:"significant"`
	Status      Change        `json:"status"`

	// WorkA and WorkB are what it has to do, as far as that is known.
	WorkA Work `json:"a_work"`
	WorkB Work `json:"b_work"`

	times [2][]float64
}

// Work is what kernels have to do in a pass, in the mean. Zero is unknown.
type Work struct {
	Floor time.Duration `json:"floor_ns,omitempty"` // how long the GPU needs at least
	Bytes int64         `json:"bytes,omitempty"`    // weights, cache and activations
	GFLOP float64       `json:"gflop,omitempty"`    // 10⁹ operations
	// Shape is M×N×K of the product with most operations, where it has any.
	Shape string `json:"shape,omitempty"`

	compute bool    // arithmetic limits it
	largest float64 // GFLOP of the kernel with Shape
}

// add counts a kernel of one of n passes.
func (w *Work) add(k *PartTime, scale, n float64) {
	w.Floor += time.Duration(scale * float64(k.Floor) / n)
	w.Bytes += int64(scale * float64(k.Bytes) / n)
	w.GFLOP += scale * k.GFLOP / n
	w.compute = w.compute || k.Compute
	w.shape(k.Shape, k.GFLOP)
}

// join adds the work of another kernel.
func (w *Work) join(of *Work) {
	w.Floor, w.Bytes, w.GFLOP, w.compute = w.Floor+of.Floor, w.Bytes+of.Bytes, w.GFLOP+of.GFLOP, w.compute || of.compute
	w.shape(of.Shape, of.largest)
}

// shape keeps the product with most operations.
func (w *Work) shape(s string, gflop float64) {
	if s != "" && (w.Shape == "" || gflop > w.largest) {
		w.Shape, w.largest = s, gflop
	}
}

// Other is a comparison of other passes than the main one's, or of another rank, in short.
type Other struct {
	A       Summary       `json:"a"`        // the older side
	B       Summary       `json:"b"`        // the newer side
	Delta   time.Duration `json:"delta_ns"` // B's mean pass minus A's
	Verdict Outcome       `json:"verdict"`  // the answer
	Text    string        `json:"text"`     // the verdict in one sentence
}

// newFinding is one about the compared passes, whose size is a part of side A's step. Its place is in side B.
func (r *Report) newFinding(kind finding.Kind, operator, text, evidence string, delta time.Duration) finding.Finding {
	return finding.Finding{Kind: kind, Code: operator, Text: text, Evidence: evidence, Stage: r.B.Stage,
		Advice: kind.Info().Advice,
		Size: finding.SizeOf(finding.Changed, finding.OfStep, delta*time.Duration(max(r.B.Passes, 1)),
			float64(max(r.B.Passes, 1)), r.A.Wall*time.Duration(max(r.B.Passes, 1))),
		Place: finding.Place{Trace: r.B.Trace, Operator: operator, Start: time.Duration(r.B.Start)}}
}
