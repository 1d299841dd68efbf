package capture

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// ProbeReport is how a server answers short requests.
type ProbeReport struct {
	// Server is its address, Framework what it is, Evidence how that is known.
	Server    string    `json:"server"`
	Framework Framework `json:"framework"`
	Evidence  string    `json:"evidence"`
	// Info is what the server says of itself.
	Info ServerInfo `json:"server_info"`
	// Source is the route that was asked first, Prompts were taken in turn,
	// Prompt is the first of them, MaxTokens is of every request.
	Source    string   `json:"source"`
	Prompt    string   `json:"prompt"`
	Prompts   []string `json:"prompts"`
	MaxTokens int      `json:"max_tokens"`
	// Success says that all requests were answered, AllNonEmpty that all
	// answers have text; Errors are what the others ended with.
	Success     bool     `json:"success"`
	AllNonEmpty bool     `json:"all_non_empty"`
	Errors      []string `json:"errors"`
	// Latency is of the requests that were answered.
	Latency Latency `json:"latency"`
	// Samples are the answers in order.
	Samples []Sample `json:"samples"`
	Notes   []string `json:"notes,omitempty"`
}

// Sample is one answer.
type Sample struct {
	// LatencyMs is from sending the request to the end of the answer.
	LatencyMs float64 `json:"latency_ms"`
	// Tokens is -1 when the server does not say.
	Tokens int    `json:"tokens"`
	Output string `json:"output"`
}

// probePrompts are short, of three kinds, and any model answers them with a few sentences.
var probePrompts = []string{
	defaultPrompt,
	"Write a haiku about the sea.",
	"What is 17 times 23? Show how you get there.",
}

// Probe sends ProbeRequests short requests, one after the other, and reports latency and answers. The profiler is not
// touched, and OutputDir is only looked at for a framework's name. On an error the report holds what was answered
// before.
func Probe(ctx context.Context, o Options) (*ProbeReport, error) {
	o.Workload = WorkloadLegacy
	prompts := o.ProbePrompts
	switch {
	case len(prompts) > 0:
	case o.ProbePrompt != "":
		prompts = []string{o.ProbePrompt}
	default:
		prompts = probePrompts
	}
	o.OutputDir = cmp.Or(o.OutputDir, ".") // nothing is written
	r, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	n := r.o.ProbeRequests
	rep := &ProbeReport{
		Server: r.res.Server, Framework: r.res.Framework, Evidence: r.res.Evidence, Info: r.res.Info,
		Source: r.d.targets[0].con.Generate[0], Prompt: prompts[0], Prompts: prompts, MaxTokens: r.o.ProbeMaxNewTokens,
		Notes: r.res.Notes, Samples: []Sample{}, Errors: []string{}, Success: true, AllNonEmpty: true,
	}
	var times []time.Duration
	for i := range n {
		r.say("", "requests", r.begin, fmt.Sprintf("request %d of %d", i+1, n))
		begin := time.Now()
		q := request{prompt: prompts[i%len(prompts)], maxTokens: rep.MaxTokens, seed: r.o.FirstIndex + i}
		a, aerr := r.d.generate(ctx, i, q, r.o.Timeouts.Request)
		if aerr != nil {
			rep.Success, rep.AllNonEmpty, rep.Errors = false, false, append(rep.Errors, aerr.Error())
			err = fmt.Errorf("probe request %d of %d: %w", i+1, n, aerr)
			break
		}
		times = append(times, time.Since(begin))
		rep.Samples = append(rep.Samples, Sample{LatencyMs: ms(times[i]), Tokens: a.tokens, Output: a.text})
		rep.AllNonEmpty = rep.AllNonEmpty && strings.TrimSpace(a.text) != ""
	}
	rep.Latency = summarise(times)
	return rep, err
}
