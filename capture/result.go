package capture

import (
	"fmt"
	"time"
)

// Result is what [Run] captured. It is data for JSON; durations are in seconds.
type Result struct {
	// Server is its address, Framework what it is.
	Server    string    `json:"server"`
	Framework Framework `json:"framework"`
	// Evidence says how the framework is known.
	Evidence string     `json:"evidence"`
	Workload Workload   `json:"workload"`
	Info     ServerInfo `json:"server_info"`
	// OutputDir is absolute.
	OutputDir string    `json:"output_dir"`
	StartedAt time.Time `json:"started_at"`
	ElapsedS  float64   `json:"elapsed_s"`
	// Stages are in the order they were captured. After an error they are
	// those that were finished before it.
	Stages []StageResult `json:"stages"`
	// Notes say what was ignored or assumed, Warnings what may be wrong.
	Notes    []string `json:"notes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
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

// StageResult is one profiled window.
type StageResult struct {
	Stage Stage `json:"stage"`
	// Dir holds the traces; absolute.
	Dir string `json:"dir"`
	// ServerArgs is the path of the server's information beside the traces,
	// "" when there was none.
	ServerArgs string `json:"server_args,omitempty"`
	// StepsAsked is NumSteps, StepsSent the number in the request (one more
	// for SGLang, 0 for servers that take none), StepsFound the most
	// Options.Inspect saw in a trace, -1 when it was not asked or did not
	// count.
	StepsAsked int     `json:"steps_asked"`
	StepsSent  int     `json:"steps_sent"`
	StepsFound int     `json:"steps_found"`
	Traces     []Trace `json:"traces"`
	// Ranks are the labels of the traces, Expected the number of traces
	// waited for, 0 when it was not known.
	Ranks    []string `json:"ranks"`
	Expected int      `json:"expected_traces"`
	Warmup   Load     `json:"warmup"`
	Load     Load     `json:"capture"`
	Timings  Timings  `json:"timings"`
	// Empty is set when Inspect found no GPU event in any trace; Diagnosis
	// then lists the likely causes.
	Empty     bool     `json:"empty_window"`
	Diagnosis []string `json:"diagnosis,omitempty"`
	Warnings  []string `json:"warnings,omitempty"`
}

// Trace is one finished file.
type Trace struct {
	// Path is absolute.
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
	// Rank is the label in the name, "" for none.
	Rank   string `json:"rank,omitempty"`
	Merged bool   `json:"merged,omitempty"`
	Found  *Found `json:"found,omitempty"`
}

// Load are the requests of one phase.
type Load struct {
	// Requests is the number sent, one after the other.
	Requests int `json:"requests"`
	// InputWords and MaxTokens are per request; 0 words is the probe prompt.
	InputWords int `json:"input_words"`
	MaxTokens  int `json:"max_tokens"`
	// Tokens is the least number of tokens a request was answered with as the
	// server counts, -1 when it does not say.
	Tokens int `json:"least_tokens"`
	// Latency is per request, ElapsedS over all of them.
	Latency  Latency `json:"latency"`
	ElapsedS float64 `json:"elapsed_s"`
}

// Timings are seconds per phase.
type Timings struct {
	// WarmupS is the warm-up requests, RequestsS the profiled ones.
	WarmupS   float64 `json:"warmup_s"`
	RequestsS float64 `json:"requests_s"`
	// StartS and StopS are the profiler's answers, ArmDelayS the wait between
	// arming and the first request.
	StartS    float64 `json:"start_s"`
	ArmDelayS float64 `json:"arm_delay_s"`
	StopS     float64 `json:"stop_s"`
	// TracesS is the wait for complete files.
	TracesS float64 `json:"traces_s"`
}

// diagnose fills in Empty and Diagnosis from what Inspect found. The order is
// from what the numbers prove to what is merely common.
func (s *StageResult) diagnose(startLate, earlier bool) {
	var gpu, cpu int64
	inspected := 0
	for _, t := range s.Traces {
		if t.Found == nil {
			continue
		}
		inspected++
		gpu += t.Found.GPUEvents
		cpu += t.Found.CPUEvents
		s.StepsFound = max(s.StepsFound, t.Found.Steps)
	}
	if inspected == 0 {
		return
	}
	add := func(format string, args ...any) { s.Diagnosis = append(s.Diagnosis, fmt.Sprintf(format, args...)) }
	if gpu > 0 {
		if s.StepsFound >= 0 && s.StepsFound < s.StepsAsked {
			add("%d of %d steps found: the workload ended early or the window opened late", s.StepsFound, s.StepsAsked)
		}
		return
	}
	s.Empty = true
	if s.Load.Tokens >= 0 && s.Stage == StageDecode && s.Load.Tokens < s.StepsAsked {
		add("too few steps: the model stopped after %d tokens, %d steps were asked (try --ignore-eos)", s.Load.Tokens, s.StepsAsked)
	}
	if startLate {
		add("armed too late: the server had not answered /start_profile when the requests were sent (raise --probe-delay)")
	}
	if cpu > 0 {
		add("CPU-only activities: %d host events and no GPU event, so the profiler ran without its GPU side (activities, CUPTI/roctracer missing or taken by another profiler, or a server without a GPU)", cpu)
		return
	}
	add("nothing was recorded at all: no step ran while the profiler was armed (too few requests, or requests served by another process)")
	if earlier {
		add("this folder holds earlier traces: some releases record only the first window of a server's life (vllm-project/vllm#45987); restart the server")
	}
}
