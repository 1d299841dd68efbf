package finding

import (
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/internal/vocabulary"
)

// Stage is what a forward pass does. Package layer has it as [layer.Stage].
type Stage string

// The stages. More may be added.
const (
	StageUnknown Stage = "unknown"
	StagePrefill Stage = "prefill" // context requests only
	StageDecode  Stage = "decode"  // generation requests only
	StageMixed   Stage = "mixed"   // both
	StageVerify  Stage = "verify"  // the target model checks drafted tokens
	StageDraft   Stage = "draft"   // a draft model runs
	StageIdle    Stage = "idle"    // a step without requests
	StageCapture Stage = "capture" // a graph is being captured
)

// StageInfo is the row of a stage: all that consumers show of it.
type StageInfo struct {
	// Title heads a table, Step names one step in a sentence: "prefill step".
	Title, Step string
	// Published is the word of the published triage script, whose rows join the stages that it does not know.
	Published string
	// Generates says that all of its requests go on from an earlier step.
	Generates bool
	// Help is the line of the documentation.
	Help string
}

var stages = []struct {
	stage Stage
	info  StageInfo
}{
	{StagePrefill, StageInfo{"Prefill", "prefill step", "extend", false, "Context requests only."}},
	{StageDecode, StageInfo{"Decode", "decode step", "decode", true, "Generation requests only."}},
	{StageMixed, StageInfo{"Mixed", "mixed step", "mixed", false,
		"Context and generation requests in one batch."}},
	{StageVerify, StageInfo{"Verify", "verify step", "decode", true, "The target model checks drafted tokens."}},
	{StageDraft, StageInfo{"Draft", "draft step", "decode", true, "A draft model proposes tokens."}},
	{StageIdle, StageInfo{"Idle", "idle step", "all", false, "A step without requests."}},
	{StageCapture, StageInfo{"Capture", "capture step", "capture", false, "A CUDA graph is being captured."}},
	{StageUnknown, StageInfo{"Unknown", "step", "all", false, "The trace does not say."}},
}

// Stages lists all stages in the order of reports.
func Stages() []Stage {
	out := make([]Stage, len(stages))
	for i := range stages {
		out[i] = stages[i].stage
	}
	return out
}

// Info returns the stage's row, that of StageUnknown for "" and for words that are no stage.
func (s Stage) Info() StageInfo {
	for i := range stages {
		if stages[i].stage == s {
			return stages[i].info
		}
	}
	return stages[len(stages)-1].info
}

// String returns the stage's word.
func (s Stage) String() string { return string(s) }

// MarshalText returns the stage's word; "" means no stage. It refuses unknown words.
func (s Stage) MarshalText() ([]byte, error) {
	if s == "" {
		return nil, nil
	}
	return []byte(s), vocabulary.Check("stage", Stages(), s)
}

// UnmarshalText accepts the word of a stage, or none.
func (s *Stage) UnmarshalText(text []byte) error {
	return vocabulary.Set(s, "stage", text, append(Stages(), "")...)
}

// Band is how far an answer can be believed.
type Band uint8

// The bands.
const (
	BandUnknown Band = iota // nobody judged it
	Low                     // likely to change with more data
	Medium                  // may change with more data
	High                    // nothing speaks against it
)

var bands = vocabulary.New[Band]("confidence", "", "low", "medium", "high")

// Bands lists the bands from the lowest to the highest.
func Bands() []Band { return bands.All(BandUnknown) }

// String returns the band's word.
func (b Band) String() string { return bands.Word(b) }

// MarshalText returns the band's word.
func (b Band) MarshalText() ([]byte, error) { return bands.Text(b) }

// UnmarshalText accepts the word of a band.
func (b *Band) UnmarshalText(text []byte) error { return bands.Read(b, text) }

// Measure says what the times of a [Size] are.
type Measure uint8

// The measures.
const (
	NoMeasure   Measure = iota // the finding has no size
	Recoverable                // an upper bound of the gain
	Taken                      // the time spent, not the possible gain
	Changed                    // by this it differs from the other run
)

var measures = vocabulary.New[Measure]("measure", "none", "at-most", "taken", "changed")

// Measures lists all measures.
func Measures() []Measure { return measures.All(NoMeasure) }

// String returns the measure's word.
func (m Measure) String() string { return measures.Word(m) }

// Amount is a time of the measure in a sentence: "up to 1.26 ms", "takes 843 µs", "+12.0 µs".
func (m Measure) Amount(d time.Duration) string {
	switch m {
	case Recoverable:
		return "up to " + table.Duration(d)
	case Taken:
		return "takes " + table.Duration(d)
	case Changed:
		return table.Change(d)
	}
	return table.Duration(d)
}

// MarshalText returns the measure's word.
func (m Measure) MarshalText() ([]byte, error) { return measures.Text(m) }

// UnmarshalText accepts the word of a measure.
func (m *Measure) UnmarshalText(text []byte) error { return measures.Read(m, text) }

// Basis says what a share is a share of.
type Basis uint8

// The bases.
const (
	NoBasis  Basis = iota // there is no share
	OfStep                // the time of the steps, each up to the next
	OfWindow              // the window, where no steps are known
	OfGPU                 // the time of all GPU activities, streams added up
)

type baseInfo struct{ title, each, span string }

var (
	bases = [...]row[baseInfo]{{word: "none"}, {"step", baseInfo{"of step time", "Per step", "the steps"}},
		{"window", baseInfo{"of the window", "In the window", "the window"}}, {word: "gpu", info: baseInfo{title: "of GPU time"}}}
	baseWords = wordsOf[Basis]("basis", bases[:])
)

// Bases lists all bases.
func Bases() []Basis { return baseWords.All(NoBasis) }

// String returns the basis's word.
func (b Basis) String() string { return baseWords.Word(b) }

// Title is the text after a percentage: "of step time".
func (b Basis) Title() string { return infoOf(bases[:], b).title }

// Span is the time that shares are of: "the steps".
func (b Basis) Span() string { return infoOf(bases[:], b).span }

// Percent heads a column of percentages: "% of step".
func (b Basis) Percent() string {
	if b == OfGPU {
		return "% of GPU time"
	}
	return "% of " + b.String()
}

// Each heads a column of means: "Per step", "In the window".
func (b Basis) Each() string { return infoOf(bases[:], b).each }

// EachOf says what means over the steps of a stage are of: "per decode step", "in the window".
func (b Basis) EachOf(s Stage) string {
	if b == OfWindow {
		return "in the window"
	}
	if s == "" {
		return "per step"
	}
	return "per " + s.Info().Step
}

// Noun heads a column of whole times: "Step", "Window".
func (b Basis) Noun() string { return table.UpperFirst(b.String()) }

// Gain heads a column of what can be won: "Step gain".
func (b Basis) Gain() string { return b.Noun() + " gain" }

// Per is the unit of a column of means: "ms/step", of the window "ms" alone.
func (b Basis) Per(unit string) string {
	if b == OfStep {
		return unit + "/" + b.String()
	}
	return unit
}

// MarshalText returns the basis's word.
func (b Basis) MarshalText() ([]byte, error) { return baseWords.Text(b) }

// UnmarshalText accepts the word of a basis.
func (b *Basis) UnmarshalText(text []byte) error { return baseWords.Read(b, text) }
