package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/llmstrata/strata/capture/internal/label"
	"github.com/llmstrata/strata/internal/framework"
)

// sglang drives SGLang. Facts used, from its sources
// (srt/managers/scheduler_profiler_mixin.py, its successor
// scheduler_components/profiler_manager.py, tokenizer_control_mixin.py):
//
//   - /start_profile takes a JSON object and answers at once when the window is
//     armed; early 0.4 releases answered when the window had closed.
//   - The window closes when the next batch is about to run: after num_steps-1
//     passes in releases before sgl-project/sglang#30215, after num_steps since.
//     So n+1 is sent, and the passes are counted in the trace. Where traffic
//     ends first the window stays open, so a stop request always follows; one
//     that comes too late is answered 500, harmlessly.
//   - A second plain start while a window is open ends the scheduler or loses
//     the first window: a start is sent once.
//   - The stop is answered after the export.
//   - One file per process, [<prefix>-]<profile_id>-TP-<n>[-DP-<n>][-PP-<n>]
//     [-EP-<n>][-<stage>].trace.json.gz, profile_id being the wall clock.
type sglang struct {
	c *Client
	o Options
}

func (d *sglang) Traits() Traits {
	return Traits{
		OwnDir: true, SelfStop: true, MayBlock: true, StopAgain: true, Flushed: true,
		Needs: framework.SGLang().Launch,
	}
}

func (d *sglang) Check(o Options) ([]string, error) {
	var notes []string
	if o.ProfileByStage && o.Separated != "" {
		notes = append(notes, "profile_by_stage is off: the "+o.Separated+" workload separates the stages itself (use --profile-workload legacy for the server's own)")
	}
	return notes, nil
}

// sglangProfile is the body of /start_profile.
type sglangProfile struct {
	OutputDir      string   `json:"output_dir"`
	NumSteps       int      `json:"num_steps"`
	Activities     []string `json:"activities"`
	ProfileByStage bool     `json:"profile_by_stage"`
	MergeProfiles  bool     `json:"merge_profiles"`
	ProfilePrefix  string   `json:"profile_prefix,omitempty"`
	StartStep      int      `json:"start_step,omitempty"`
	WithStack      *bool    `json:"with_stack,omitempty"`
	RecordShapes   bool     `json:"record_shapes"`
}

// Start sends record_shapes always: releases differ in what its absence means.
func (d *sglang) Start(ctx context.Context, s Session) error {
	shapes := true
	if d.o.RecordShapes != nil {
		shapes = *d.o.RecordShapes
	}
	return Control(ctx, d.c, StartPath, sglangProfile{
		OutputDir:      s.Dir,
		NumSteps:       s.Steps + 1,
		Activities:     d.o.Activities,
		ProfileByStage: s.ByStage,
		MergeProfiles:  d.o.MergeProfiles,
		ProfilePrefix:  d.o.ProfilePrefix,
		StartStep:      d.o.StartStep,
		WithStack:      d.o.WithStack,
		RecordShapes:   shapes,
	}, d.o.StartTimeout)
}

// sglangGenerate is the body of /generate.
type sglangGenerate struct {
	Text     string         `json:"text"`
	Sampling sglangSampling `json:"sampling_params"`
	Stream   bool           `json:"stream"`
}

type sglangSampling struct {
	Seed         int  `json:"sampling_seed"`
	Temperature  int  `json:"temperature"`
	MaxNewTokens int  `json:"max_new_tokens"`
	IgnoreEOS    bool `json:"ignore_eos,omitempty"`
}

func (d *sglang) Generate(ctx context.Context, r Request) (Reply, error) {
	const path = "/generate"
	got, err := d.c.Post(ctx, path, sglangGenerate{
		Text:     r.Prompt,
		Sampling: sglangSampling{Seed: r.Seed, MaxNewTokens: r.MaxTokens, IgnoreEOS: r.IgnoreEOS},
	}, d.o.RequestTimeout)
	if err != nil {
		return Reply{}, err
	}
	// One prompt is answered by one object; some gateways make it a list.
	var raw json.RawMessage
	if err := d.c.decode(http.MethodPost, path, got.Text, &raw); err != nil {
		return Reply{}, err
	}
	type generated struct {
		Text string `json:"text"`
		Meta struct {
			Completion *float64 `json:"completion_tokens"`
			Prompt     *float64 `json:"prompt_tokens"`
			Cached     *float64 `json:"cached_tokens"`
		} `json:"meta_info"`
	}
	var one generated
	if len(raw) > 0 && raw[0] == '[' {
		var many []generated
		if err := d.c.decode(http.MethodPost, path, raw, &many); err != nil {
			return Reply{}, err
		}
		if len(many) > 0 {
			one = many[0]
		}
	} else if err := d.c.decode(http.MethodPost, path, raw, &one); err != nil {
		return Reply{}, err
	}
	return Reply{one.Text, tokenCount(one.Meta.Completion), tokenCount(one.Meta.Prompt), tokenCount(one.Meta.Cached)}, nil
}

// tokenCount is -1 for none.
func tokenCount(n *float64) int {
	if n == nil || *n < 0 || *n > 1<<30 {
		return -1
	}
	return int(*n)
}

// SGLangInfo fetches the server's information and says from where.
func SGLangInfo(ctx context.Context, c *Client) (doc map[string]any, path string, err error) {
	path = "/server_info"
	text, err := c.Get(ctx, path)
	if s := Status(err); s == http.StatusNotFound || s == http.StatusMethodNotAllowed {
		// The name before 0.5.
		var text2 []byte
		var err2 error
		if text2, err2 = c.Get(ctx, "/get_server_info"); err2 == nil {
			text, err, path = text2, nil, "/get_server_info"
		}
	}
	if err != nil {
		return nil, path, err
	}
	if err = c.decode(http.MethodGet, path, text, &doc); err == nil && doc == nil {
		err = c.Fail(http.MethodGet, path, http.StatusOK, text, errors.New("not a JSON object"))
	}
	return doc, path, err
}

func (d *sglang) Info(ctx context.Context) (Info, error) {
	doc, path, err := SGLangInfo(ctx, d.c)
	if err != nil {
		if Unreachable(err) || Unauthorized(err) || ctx.Err() != nil {
			return Info{}, err
		}
		// A server that answers but has no information can still be profiled.
		return Info{Note: fmt.Sprintf("no server information: %v", err)}, nil
	}
	info := Info{Endpoint: path, Document: d.c.Redact(doc)}
	info.Model = FirstString(doc, "model_path", "served_model_name", "model")
	info.Version = FirstString(doc, "version")
	info.ChunkedPrefill = intField(doc, "chunked_prefill_size")
	info.TP, info.PP, info.DP, info.EP = intField(doc, "tp_size"), intField(doc, "pp_size"), intField(doc, "dp_size"), intField(doc, "ep_size")
	info.Expected = sglangRanks(doc, info)
	return info, nil
}

// sglangRanks lists the processes that write a trace. Under data parallel
// attention the DP ranks are TP ranks too; without it, each DP replica has its
// own TP group.
func sglangRanks(doc map[string]any, in Info) []label.Rank {
	tp, pp, dp := max(in.TP, 1), max(in.PP, 1), max(in.DP, 1)
	if in.TP == 0 {
		return nil // not said
	}
	if b, _ := doc["enable_dp_attention"].(bool); b {
		dp = 1
	}
	const most = 4096 // a number no deployment reaches; the field is the server's
	if tp > most || pp > most || dp > most || tp*pp*dp > most {
		return nil
	}
	var ranks []label.Rank
	for d := range dp {
		for p := range pp {
			for t := range tp {
				r := label.Of(label.None)
				r.TP = t
				if pp > 1 {
					r.PP = p
				}
				if dp > 1 {
					r.DP = d
				}
				ranks = append(ranks, r)
			}
		}
	}
	return ranks
}
