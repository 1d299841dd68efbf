package capture

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/llmstrata/strata/internal/framework"
)

// sglang drives SGLang. Facts used, from its sources (scheduler_profiler_mixin.py,
// profile_utils.py, io_struct.py; releases 0.4 to 0.5):
//
//   - /start_profile takes a JSON object and answers at once when the window is
//     armed; early 0.4 releases answered when the window had closed.
//   - The window closes when the forward counter reaches its value at arming
//     plus num_steps, checked before a step runs: n steps need n+1. With fewer
//     steps than that in the workload it stays open, so a stop request always
//     follows; one that comes too late is answered 500 "not in progress".
//   - One file per process, [<prefix>-]<profile_id>-TP-<n>[-DP-<n>][-PP-<n>]
//     [-EP-<n>][-<stage>].trace.json.gz, profile_id being the wall clock.
type sglang struct {
	c *client
	o Options
}

func (d *sglang) traits() traits {
	return traits{
		ownDir: true, selfStop: true, mayBlock: true,
		needs: framework.SGLang().Launch,
	}
}

func (d *sglang) check(o Options) ([]string, error) {
	var notes []string
	if o.ProfileByStage && o.Workload != WorkloadLegacy {
		notes = append(notes, "profile_by_stage is off: the "+string(o.Workload)+" workload separates the stages itself (use --profile-workload legacy for the server's own)")
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
	RecordShapes   *bool    `json:"record_shapes,omitempty"`
}

func (d *sglang) start(ctx context.Context, s session) error {
	return postStart(ctx, d.c, d.o, sglangProfile{
		OutputDir:      s.dir,
		NumSteps:       d.o.NumSteps + 1,
		Activities:     d.o.Activities,
		ProfileByStage: s.byStage,
		MergeProfiles:  d.o.MergeProfiles,
		ProfilePrefix:  d.o.ProfilePrefix,
		StartStep:      d.o.StartStep,
		WithStack:      d.o.WithStack,
		RecordShapes:   d.o.RecordShapes,
	})
}

func (d *sglang) stop(ctx context.Context, cleanup bool) error {
	return postStop(ctx, d.c, d.o, cleanup)
}

// postStop is the same for all servers. A cleanup has its own, short timeout.
func postStop(ctx context.Context, c *client, o Options, cleanup bool) error {
	timeout := o.Timeouts.Stop
	if cleanup {
		timeout = o.Timeouts.Cleanup
	}
	_, err := c.post(ctx, "/stop_profile", nil, timeout)
	if notInProgress(err) {
		return nil
	}
	return err
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

func (d *sglang) generate(ctx context.Context, r request) (Answer, error) {
	text, err := d.c.post(ctx, "/generate", sglangGenerate{
		Text:     r.prompt,
		Sampling: sglangSampling{Seed: r.seed, MaxNewTokens: r.maxTokens, IgnoreEOS: d.o.IgnoreEOS},
	}, d.o.Timeouts.Request)
	if err != nil {
		return Answer{}, err
	}
	// One prompt is answered by one object; some gateways make it a list.
	var raw json.RawMessage
	if err := d.c.decode(http.MethodPost, "/generate", text, &raw); err != nil {
		return Answer{}, err
	}
	type reply struct {
		Text string `json:"text"`
		Meta struct {
			Completion *float64 `json:"completion_tokens"`
		} `json:"meta_info"`
	}
	var one reply
	if len(raw) > 0 && raw[0] == '[' {
		var many []reply
		if err := d.c.decode(http.MethodPost, "/generate", raw, &many); err != nil {
			return Answer{}, err
		}
		if len(many) > 0 {
			one = many[0]
		}
	} else if err := d.c.decode(http.MethodPost, "/generate", raw, &one); err != nil {
		return Answer{}, err
	}
	return Answer{Text: one.Text, Tokens: tokenCount(one.Meta.Completion)}, nil
}

// tokenCount is -1 for none.
func tokenCount(n *float64) int {
	if n == nil || *n < 0 || *n > 1<<30 {
		return -1
	}
	return int(*n)
}

// sglangInfo fetches the server's information and says from where.
func sglangInfo(ctx context.Context, c *client) (doc map[string]any, path string, err error) {
	path = "/server_info"
	text, err := c.get(ctx, path)
	if s := status(err); s == http.StatusNotFound || s == http.StatusMethodNotAllowed {
		// The name before 0.5.
		var text2 []byte
		var err2 error
		if text2, err2 = c.get(ctx, "/get_server_info"); err2 == nil {
			text, err, path = text2, nil, "/get_server_info"
		}
	}
	if err != nil {
		return nil, path, err
	}
	return doc, path, func() error {
		if err := c.decode(http.MethodGet, path, text, &doc); err != nil {
			return err
		}
		if doc == nil {
			return &ServerError{Method: http.MethodGet, Server: c.base, Endpoint: path, Status: http.StatusOK, Err: fmt.Errorf("not a JSON object"), Body: excerpt(text)}
		}
		return nil
	}()
}

func (d *sglang) info(ctx context.Context) (ServerInfo, error) {
	doc, path, err := sglangInfo(ctx, d.c)
	if err != nil {
		if unreachable(err) || ctx.Err() != nil {
			return ServerInfo{}, err
		}
		// A server that answers but has no information can still be profiled.
		return ServerInfo{Note: fmt.Sprintf("no server information: %v", err)}, nil
	}
	info := ServerInfo{Endpoint: path, Document: redact(doc).(map[string]any)}
	info.Model = firstString(doc, "model_path", "served_model_name", "model")
	info.Version = firstString(doc, "version")
	info.TP, info.PP, info.DP, info.EP = intField(doc, "tp_size"), intField(doc, "pp_size"), intField(doc, "dp_size"), intField(doc, "ep_size")
	info.Expected = sglangRanks(doc, info)
	return info, nil
}

// sglangRanks lists the processes that write a trace. Under data parallel
// attention the DP ranks are TP ranks too; without it, each DP replica has its
// own TP group.
func sglangRanks(doc map[string]any, in ServerInfo) []Rank {
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
	var ranks []Rank
	for d := range dp {
		for p := range pp {
			for t := range tp {
				r := Rank{TP: t, PP: none, DP: none, Global: none}
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
