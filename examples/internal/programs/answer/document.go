package answer

import (
	"fmt"
	"slices"
	"time"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/vocabulary"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage"
)

// schema names the document.
const schema = "strata.answer/1"

// Question is what is asked.
type Question string

// The questions.
const (
	Slow     Question = "slow"     // why is it slow?
	Regress  Question = "regress"  // what became slower since another run?
	Host     Question = "host"     // is the CPU the bottleneck?
	Roofline Question = "roofline" // how far from what the GPU can do?
	Fusion   Question = "fusion"   // which fused path is not used?
	Ranks    Question = "ranks"    // do GPUs wait for each other?
)

// Questions lists all questions, the usual one first.
func Questions() []Question { return []Question{Slow, Regress, Host, Roofline, Fusion, Ranks} }

// String returns the question's word.
func (q Question) String() string { return string(q) }

// MarshalText returns the question's word.
func (q Question) MarshalText() ([]byte, error) {
	return []byte(q), vocabulary.Check("question", Questions(), q)
}

// kinds are the findings that a question is about; nil for all.
func (q Question) kinds() []finding.Kind {
	switch q {
	case Host:
		return []finding.Kind{finding.IdleTime}
	case Roofline:
		return []finding.Kind{finding.AboveFloor, finding.SmallKernels, finding.NoFloor}
	case Fusion:
		return []finding.Kind{finding.Fusion}
	case Ranks:
		return []finding.Kind{finding.RankWait, finding.LateRank, finding.RanksWait, finding.ExposedCommunication}
	}
	return nil
}

// about reports whether a finding answers the question. What puts figures in doubt belongs to every answer.
func (q Question) about(f *finding.Finding) bool {
	kinds := q.kinds()
	return kinds == nil || f.Kind.Info().Doubt > 0 || slices.Contains(kinds, f.Kind) || q == Ranks &&
		f.Cause == finding.OtherRanks
}

// Conclusion is what an answer comes to.
type Conclusion string

// The conclusions.
const (
	Found      Conclusion = "found"       // at least one finding answers the question
	Healthy    Conclusion = "healthy"     // nothing above a percent of a step was found
	CannotTell Conclusion = "cannot-tell" // the recording does not show it; Why says why
)

// Conclusions lists all conclusions.
func Conclusions() []Conclusion { return []Conclusion{Found, Healthy, CannotTell} }

// String returns the conclusion's word.
func (c Conclusion) String() string { return string(c) }

// MarshalText returns the conclusion's word.
func (c Conclusion) MarshalText() ([]byte, error) {
	return []byte(c), vocabulary.Check("conclusion", Conclusions(), c)
}

// Answer is the filled-in checklist. It is a document: its JSON form is stable.
type Answer struct {
	// Schema is "strata.answer/1".
	Schema string `json:"schema"`
	// Question is what was asked.
	Question Question `json:"question"`
	// Traces are the files that were read.
	Traces []string `json:"traces"`
	// Conclusion says whether there is an answer.
	Conclusion Conclusion `json:"conclusion"`
	// Text is the conclusion in a sentence or two.
	Text string `json:"text"`
	// Why says why the question cannot be answered, "" where it can.
	Why string `json:"why_unknown,omitempty"`
	// Validity says whether the figures can be trusted. Read it before them.
	Validity Validity `json:"validity"`
	// Findings answer the question: those that put figures in doubt first, then by the time of all steps, the largest
	// first.
	Findings []finding.Finding `json:"findings"`
	// Other are findings that the question is not about, in the same order.
	Other []finding.Finding `json:"other_findings"`
	// Withheld are findings that rest on times which the validity says are not to be trusted.
	Withheld []finding.Finding `json:"withheld_findings"`
	// Next are the command lines that show more, those of the first findings first.
	Next []string `json:"next"`
	// Model is what ran.
	Model Model `json:"model"`
	// Environment is where it ran.
	Environment Environment `json:"environment"`
	// Passes are the forward passes by stage.
	Passes Passes `json:"passes"`
	// Layers have a representative layer for each type of bottleneck.
	Layers Layers `json:"representative_layers"`
	// Kernels are the kernels that take most time, by stage.
	Kernels Kernels `json:"kernel_table"`
	// Overlap is communication that compute could hide.
	Overlap Overlap `json:"overlap_table"`
	// Fuse are known fusions, in use or not.
	Fuse Fuse `json:"fuse_table"`
	// Host says whether the CPU is the bottleneck.
	Host HostVerdict `json:"host"`
	// Light is how far the steps are from what the GPU can do.
	Light Light `json:"speed_of_light"`
	// Ranks says whether GPUs wait for each other.
	Ranks RankWaits `json:"ranks"`
	// Compared is what changed since another run.
	Compared Compared `json:"compared"`
	// Notes are remarks for people: what was assumed, left out or doubtful.
	Notes []string `json:"notes"`
}

// Item says whether an item of the checklist could be filled in.
type Item struct {
	// Known is false where the rest of the item says nothing.
	Known bool `json:"known"`
	// Why says why it is not known, and what would answer it.
	Why string `json:"why_unknown,omitempty"`
}

// known is an item that is filled in.
var known = Item{Known: true}

// unknown is an item that is not.
func unknown(format string, args ...any) Item { return Item{Why: fmt.Sprintf(format, args...)} }

// Fact is one value, or the reason why it is not known.
type Fact struct {
	// Value is "" where it is not known.
	Value string `json:"value"`
	// From says what it was taken from, or why it is not known.
	From string `json:"from"`
}

// Cut says what a table leaves out. Rows are in order of importance.
type Cut struct {
	// Total counts the rows that there are.
	Total int `json:"rows_total"`
	// Omitted counts those that are not listed.
	Omitted int `json:"rows_omitted"`
	// OmittedNS is the time of those, in all steps.
	OmittedNS int64 `json:"omitted_ns"`
}

// Validity says whether the figures can be trusted.
type Validity struct {
	// Health is that of the worst trace.
	Health trace.HealthStatus `json:"health"`
	// Remarks are what is wrong with the traces, the worst first.
	Remarks []Remark `json:"remarks"`
	// Capture is VALID, UNCHECKED or INVALID where `strata capture` recorded the traces.
	Capture Fact `json:"capture"`
	// Problems are the checks of the capture that did not pass, with what to change.
	Problems []string `json:"capture_problems"`
	// InPasses, InLayers and WithOperator are how much of the GPU time the answer explains.
	InPasses     float64 `json:"in_passes_share_of_gpu_time"`
	InLayers     float64 `json:"in_layers_share_of_gpu_time"`
	WithOperator float64 `json:"with_operator_share_of_gpu_time"`
	// NotRead are files of a directory that were left out, with the reason.
	NotRead []string `json:"not_read"`
}

// Remark is something wrong with a trace.
type Remark struct {
	// Trace is the file.
	Trace string `json:"trace"`
	// Code is its stable name.
	Code trace.Code `json:"code"`
	// Severity is how bad it is.
	Severity trace.HealthStatus `json:"severity"`
	// Text is the remark in a sentence.
	Text string `json:"text"`
}

// Model is what ran.
type Model struct {
	Item
	// Name is that of the model.
	Name Fact `json:"name"`
	// Config is the path of its config.json.
	Config Fact `json:"config"`
	// Layers is the number of decoder layers.
	Layers Fact `json:"layers"`
	// Architecture is what the config says; null without one.
	Architecture *profile.ArchSummary `json:"architecture"`
}

// Environment is where it ran.
type Environment struct {
	Item
	// Framework is the server that made the traces.
	Framework Fact `json:"framework"`
	// GPU is the name of the device.
	GPU Fact `json:"gpu"`
	// GPUs is how many GPUs the traces show.
	GPUs int `json:"gpus_seen"`
	// TP is the tensor-parallel size.
	TP Fact `json:"tensor_parallel"`
	// EP is the expert-parallel size.
	EP Fact `json:"expert_parallel"`
}

// Passes are the forward passes by stage.
type Passes struct {
	Item
	// Stages have one row for each stage and model, those of most time first.
	Stages []StagePasses `json:"stages"`
}

// StagePasses are the passes of one stage.
type StagePasses struct {
	// Stage is what the passes do.
	Stage layer.Stage `json:"stage"`
	// Model ran, where the trace shows several; "" where there is one.
	Model string `json:"model,omitempty"`
	// Trace is the index of the file in Traces.
	Trace int `json:"trace"`
	// Count is the number of passes, Whole of those that the window does not cut.
	Count int `json:"passes"`
	Whole int `json:"whole_passes"`
	// Steady is the index of the representative pass, SteadyWall its time up to the next pass.
	Steady     int           `json:"steady_pass"`
	SteadyWall time.Duration `json:"steady_wall_ns"`
	// SteadyWhy says why it was chosen.
	SteadyWhy string `json:"steady_why"`
	// Cold are the passes at the beginning that take longer than those that follow.
	Cold []ColdPass `json:"cold_passes"`
	// Least, Median and Most are times of complete passes that are not cold; null where there are none.
	Least  *time.Duration `json:"least_wall_ns"`
	Median *time.Duration `json:"median_wall_ns"`
	Most   *time.Duration `json:"most_wall_ns"`
	// Idle is the mean time of a pass in which the GPU does nothing.
	Idle time.Duration `json:"idle_per_pass_ns"`
	// Batch is the number of requests of the steady pass, −1 unknown.
	Batch int `json:"batch"`
	// Tokens is the number of tokens of the steady pass, −1 unknown.
	Tokens int64 `json:"tokens"`
	// Confidence in the steady pass and its layers, 0…1.
	Confidence float64 `json:"confidence"`
}

// ColdPass is a pass at the beginning that takes longer than those that follow.
type ColdPass struct {
	// Pass is its index.
	Pass int `json:"pass"`
	// Wall is its time up to the next pass.
	Wall time.Duration `json:"wall_ns"`
	// Note says how much longer it takes.
	Note string `json:"note"`
}

// Layers are representative layers.
type Layers struct {
	Item
	// Rows have one layer for each type of layer of the steady pass, the type of most time first.
	Rows []Representative `json:"rows"`
}

// Representative is the layer of median time of a type.
type Representative struct {
	// Bottleneck is the category of kernels that takes most of its time.
	Bottleneck string `json:"bottleneck"`
	// BottleneckShare is the category's part of the kernel time of the layers of the type.
	BottleneckShare float64 `json:"bottleneck_share_of_kernel_time"`
	// Type is that of the layer.
	Type string `json:"layer_type"`
	// Count is the number of layers of the type.
	Count int `json:"layers"`
	// Pass and Layer are where it is.
	Pass  int `json:"pass"`
	Layer int `json:"layer"`
	// Wall is the time from its start to its end.
	Wall time.Duration `json:"wall_ns"`
	// Command shows it kernel by kernel.
	Command string `json:"command"`
}

// Kernels are the kernels that take most time.
type Kernels struct {
	Item
	// Rows are in order of time, in all stages together.
	Rows []KernelRow `json:"rows"`
	Cut
}

// KernelRow is one kernel in one stage.
type KernelRow struct {
	// Stage is that of its passes.
	Stage layer.Stage `json:"stage"`
	// Kernel is its short name.
	Kernel string `json:"kernel"`
	// Category is what it does.
	Category string `json:"category"`
	// Operator is the part of the model that it computes, "-" unknown.
	Operator string `json:"operator"`
	// Time is the sum over its launches.
	Time time.Duration `json:"time_ns"`
	// Share is its part of the stage's GPU time.
	Share float64 `json:"share_of_stage_gpu_time"`
	// Launches counts them.
	Launches int `json:"launches"`
	// Source is the line that launches it, "" unknown.
	Source string `json:"source"`
}

// Overlap is communication that compute could hide.
type Overlap struct {
	Item
	// Rows are in order of what can be gained.
	Rows []OverlapRow `json:"rows"`
	Cut
}

// OverlapRow is an exchange in one stage.
type OverlapRow struct {
	// Stage is that of its passes.
	Stage layer.Stage `json:"stage"`
	// Kernel is its short name.
	Kernel string `json:"kernel"`
	// Time is the sum over its launches.
	Time time.Duration `json:"time_ns"`
	// Hidden is the part of its time that other kernels cover.
	Hidden float64 `json:"hidden_share_of_its_time"`
	// Gain is the most that can be won.
	Gain time.Duration `json:"gain_at_most_ns"`
	// Do says what to try.
	Do string `json:"do"`
}

// Fuse are known fusions.
type Fuse struct {
	Item
	// Rows are those that are not in use first, by gain.
	Rows []FuseRow `json:"rows"`
	Cut
}

// FuseRow is a fusion in one stage.
type FuseRow struct {
	// Stage is that of its passes.
	Stage layer.Stage `json:"stage"`
	// Pattern is its name.
	Pattern string `json:"pattern"`
	// State says whether it is active, available, or why it cannot be had.
	State triage.FuseState `json:"state"`
	// Time is that of its kernels in all steps.
	Time time.Duration `json:"time_ns"`
	// Gain is by how much one step is shorter at most, without steps the window of one GPU.
	Gain time.Duration `json:"gain_at_most_ns"`
	// Times counts the chains.
	Times int `json:"occurrences"`
	// Do says how to turn it on.
	Do string `json:"do"`
}

// HostVerdict says whether the CPU is the bottleneck.
type HostVerdict struct {
	Item
	// Verdict is YES, NO or INCONCLUSIVE; INCONCLUSIVE is an answer, with its reason in Text.
	Verdict hostoverhead.Answer `json:"verdict"`
	// Text is the verdict in a sentence.
	Text string `json:"text"`
	// GPU is the number of the one that all of this is of: the host costs it most.
	GPU int `json:"gpu"`
	// Share is the part of the steps' time that the host costs.
	Share float64 `json:"host_share_of_step_time"`
	// Idle is the time of the steps in which the GPU does nothing.
	Idle time.Duration `json:"idle_ns"`
	// Wall is the time of the steps, of the window where there are none.
	Wall time.Duration `json:"steps_ns"`
	// Basis says what the shares are of, and the times in: the steps, or the window where there are none.
	Basis finding.Basis `json:"basis"`
	// Causes are why it is idle, the largest first.
	Causes []Cause `json:"causes"`
}

// Cause is why the GPU is idle.
type Cause struct {
	// Cause is its stable name.
	Cause finding.Cause `json:"cause"`
	// PerStep is its mean time in a step.
	PerStep time.Duration `json:"per_step_ns"`
	// Model is the model whose steps alone PerStep is the mean over, where several run.
	Model string `json:"step_model,omitempty"`
	// Share is its part of the steps' time.
	Share float64 `json:"share_of_step_time"`
	// Name is the range, frame or call that most of it is in, "" unknown.
	Name string `json:"name"`
}

// Light is how far steps are from what the GPU can do.
type Light struct {
	Item
	// Passes are one for each stage, of those of whose GPU time most has a floor.
	Passes []Floor `json:"passes"`
	// Operators are those of the steady pass, by the time above their floor.
	Operators []OperatorFloor `json:"operators"`
	Cut
}

// Floor is a pass against what it has to take.
type Floor struct {
	// Stage is what the pass does.
	Stage layer.Stage `json:"stage"`
	// Pass is its index.
	Pass int `json:"pass"`
	// Wall is its time up to the next pass.
	Wall time.Duration `json:"wall_ns"`
	// Floor is what it has to take at least.
	Floor time.Duration `json:"floor_ns"`
	// Share is Floor by Wall.
	Share float64 `json:"floor_share_of_wall"`
	// Covered is the part of the GPU time that operators with a floor take.
	Covered float64 `json:"with_floor_share_of_gpu_time"`
	// Basis says what the floor rests on.
	Basis string `json:"basis"`
}

// OperatorFloor is an operator against what it has to take.
type OperatorFloor struct {
	// Operator is the part of the model.
	Operator string `json:"operator"`
	// Layers is the type of its layers.
	Layers string `json:"layer_type"`
	// Time is that of its kernels in the pass.
	Time time.Duration `json:"time_ns"`
	// Floor is what they have to take at least.
	Floor time.Duration `json:"floor_ns"`
	// Bound is what limits it: memory, compute, link or latency.
	Bound string `json:"bound"`
}

// RankWaits says whether GPUs wait for each other.
type RankWaits struct {
	Item
	// Straggler is the rank that the others wait for, "" for none.
	Straggler string `json:"straggler"`
	// Text says how far to trust it.
	Text string `json:"text"`
	// Ranks are what each does at the exchanges that all take part in.
	Ranks []RankWait `json:"rows"`
}

// RankWait is one rank.
type RankWait struct {
	// Rank is its name.
	Rank string `json:"rank"`
	// Last is the part of the exchanges at which it alone arrived last.
	Last float64 `json:"last_share_of_exchanges"`
	// Waiting is the time that it waits for the last one.
	Waiting time.Duration `json:"waiting_ns"`
}

// Compared is what changed since another run.
type Compared struct {
	Item
	// Verdict is slower, faster, same, mixed or inconclusive.
	Verdict compare.Outcome `json:"verdict,omitempty"`
	// Text is the verdict in a sentence.
	Text string `json:"text"`
	// Before and After are the mean steps.
	Before time.Duration `json:"before_ns"`
	After  time.Duration `json:"after_ns"`
	// Delta is After minus Before, Low and High its 95% interval.
	Delta time.Duration `json:"delta_ns"`
	Low   time.Duration `json:"low_ns"`
	High  time.Duration `json:"high_ns"`
}
