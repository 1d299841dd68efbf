package capture

import (
	"cmp"
	"path/filepath"
	"slices"
	"time"
)

// manifestFile is the name of the document that [Run] leaves in the output folder: the [Result].
const manifestFile = "capture.json"

// Result is what [Run] captured. It is data for JSON; durations are in seconds.
type Result struct {
	// Schema is "strata.capture/1".
	Schema string `json:"schema"`
	// Verdict is the worst of the stages', "INVALID" after an error.
	Verdict Verdict `json:"verdict"`
	// Role says which capture of an [Entry] it is, "" outside a matrix.
	Role CaptureRole `json:"role,omitempty"`
	// Resumed is set in an [Entry] for a capture of an earlier run.
	Resumed bool `json:"resumed,omitempty"`
	// Server is its address, Framework what it is.
	Server    string    `json:"server"`
	Framework Framework `json:"framework"`
	// Evidence says how the framework is known, Contract by which row of the table it was driven.
	Evidence string `json:"evidence"`
	Contract string `json:"contract,omitempty"`
	// Workers are the engines that were profiled where they are not Server alone.
	Workers  []Worker `json:"workers,omitempty"`
	Workload Workload `json:"workload"`
	// Options are those of the run, with their defaults filled in: what shapes a capture, without addresses, secrets
	// and waits. Two captures with equal ones measure the same.
	Options Options    `json:"options"`
	Info    ServerInfo `json:"server_info"`
	// FirstIndex is the number of the first prompt.
	FirstIndex int `json:"first_index"`
	// OutputDir is absolute.
	OutputDir string    `json:"output_dir"`
	StartedAt time.Time `json:"started_at"`
	ElapsedS  float64   `json:"elapsed_s"`
	// Stages are in the order they were captured. After an error they are those that were finished before it, and the
	// one that failed with what there is of it.
	Stages []StageResult `json:"stages"`
	// Notes say what was ignored or assumed.
	Notes []string `json:"notes,omitempty"`
	// Error is what ended the run, "" for nothing.
	Error string `json:"error,omitempty"`
}

// Files are the paths of all traces, stage after stage.
func (r *Result) Files() []string {
	var files []string
	for _, s := range r.Stages {
		for _, t := range s.Traces {
			files = append(files, t.Path)
		}
	}
	return files
}

// Worker is one engine of a deployment.
type Worker struct {
	URL      string `json:"url"`            // address of the engine
	Role     Role   `json:"role,omitempty"` // what the engine does, "" for everything
	Contract string `json:"contract"`       // name of the contract that it follows
}

// StageResult is one profiled window.
type StageResult struct {
	Stage Stage `json:"stage"` // the stage that was captured
	// Verdict follows from Checks.
	Verdict Verdict `json:"verdict"`
	Checks  []Check `json:"checks"`
	// Tries is 2 where the first was not valid.
	Tries int `json:"tries"`
	// Dir holds the traces; absolute.
	Dir string `json:"dir"`
	// ServerArgs is the path of the server's information beside the traces, "" when there was none.
	ServerArgs string `json:"server_args,omitempty"`
	// StepsAsked is NumSteps, StepsSent the number in the request (one more for SGLang, 0 for servers that take none),
	// StepsFound the most Options.Inspect saw in a trace, -1 when it was not asked or did not count.
	StepsAsked int `json:"steps_asked"`
	StepsSent  int `json:"steps_sent"`
	StepsFound int `json:"steps_found"`
	// StageMix counts the passes found by stage, the most of any rank.
	StageMix map[string]int `json:"stage_mix,omitempty"`
	Traces   []Trace        `json:"traces"`
	// Rejected are files that were not taken: of another run, or of a first try; relative to the output folder.
	Rejected []string `json:"rejected"`
	// Ranks are the labels of the traces, Expected the number of traces waited for, 0 when it was not known.
	Ranks    []string `json:"ranks"`
	Expected int      `json:"expected_traces"`
	// ExpectedFrom says how Expected is known.
	ExpectedFrom string  `json:"expected_from,omitempty"`
	Warmup       Load    `json:"warmup"`
	Load         Load    `json:"capture"`
	Timings      Timings `json:"timings"`
	// Empty is set when Inspect found no GPU event in any trace.
	Empty    bool     `json:"empty_window"`
	Warnings []string `json:"warnings,omitempty"`
}

// Trace is one finished file.
type Trace struct {
	// Path is absolute.
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	// Rank is the label in the name, "" for none.
	Rank   string `json:"rank,omitempty"`
	Merged bool   `json:"merged,omitempty"`
	// Frontend is the process that takes requests: no rank, no GPU.
	Frontend bool   `json:"frontend,omitempty"`
	Found    *Found `json:"found,omitempty"`
}

// name is the trace's rank, or its file.
func (t *Trace) name() string { return cmp.Or(t.Rank, filepath.Base(t.Path)) }

// Load are the requests of one phase.
type Load struct {
	// Requests is the number sent, Concurrency of them at a time.
	Requests    int `json:"requests"`
	Concurrency int `json:"concurrency"`
	// InputWords and MaxTokens are per request; 0 words is the probe prompt.
	InputWords int `json:"input_words"`
	MaxTokens  int `json:"max_tokens"`
	// Tokens is the least number of tokens a request was answered with as the server counts, -1 when it does not say.
	Tokens int `json:"least_tokens"`
	// PromptTokens went in over all requests, CachedTokens of them came from
	// the prefix cache; -1 when the server does not say.
	PromptTokens int `json:"prompt_tokens"`
	CachedTokens int `json:"cached_tokens"`
	// Latency is per request, ElapsedS over all of them.
	Latency  Latency `json:"latency"`
	ElapsedS float64 `json:"elapsed_s"`
}

// Timings are seconds per phase; those of requests are in [Load].
type Timings struct {
	// StartS and StopS are the profiler's answers, ArmDelayS the wait between arming and the first request.
	StartS    float64 `json:"start_s"`
	ArmDelayS float64 `json:"arm_delay_s"`
	StopS     float64 `json:"stop_s"`
	// TracesS is the wait for complete files.
	TracesS float64 `json:"traces_s"`
}

// Latency summarises how long requests took, in milliseconds. Percentiles are
// by nearest rank: the smallest value that so many per cent do not exceed.
type Latency struct {
	// Count is the number of requests that were answered.
	Count int `json:"count"`
	// MeanMs is the arithmetic mean.
	MeanMs float64 `json:"mean_ms"`
	// P50Ms and P95Ms are percentiles.
	P50Ms float64 `json:"p50_ms"`
	P95Ms float64 `json:"p95_ms"`
	// MinMs and MaxMs are the extremes.
	MinMs float64 `json:"min_ms"`
	MaxMs float64 `json:"max_ms"`
}

// summarise is the zero value for no requests.
func summarise(times []time.Duration) Latency {
	if len(times) == 0 {
		return Latency{}
	}
	sorted := slices.Sorted(slices.Values(times))
	var sum time.Duration
	for _, t := range sorted {
		sum += t
	}
	rank := func(percent int) float64 {
		return ms(sorted[(percent*len(sorted)+99)/100-1])
	}
	return Latency{
		Count: len(sorted), MeanMs: ms(sum / time.Duration(len(sorted))),
		P50Ms: rank(50), P95Ms: rank(95), MinMs: ms(sorted[0]), MaxMs: ms(sorted[len(sorted)-1]),
	}
}

// ms is d in milliseconds, to the microsecond.
func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1e3 }

// seconds is d in seconds, to the millisecond.
func seconds(d time.Duration) float64 { return float64(d.Milliseconds()) / 1e3 }
