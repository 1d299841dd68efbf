package capture

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goccy/go-json"
)

// ServerInfo is what a server says of itself.
type ServerInfo struct {
	// Endpoint is where it said so.
	Endpoint string `json:"endpoint,omitempty"`
	Model    string `json:"model,omitempty"`
	Version  string `json:"version,omitempty"`
	// Sizes of the parallel dimensions, 0 when not said.
	TP int `json:"tp_size,omitempty"`
	PP int `json:"pp_size,omitempty"`
	DP int `json:"dp_size,omitempty"`
	EP int `json:"ep_size,omitempty"`
	// Nodes is the number of hosts that the engine spans, 0 when not said.
	Nodes int `json:"nnodes,omitempty"`
	// Role is the half of a split deployment, "" for both.
	Role Role `json:"role,omitempty"`
	// Kind is what the server's profiler was launched to record, "" when not said.
	Kind Kind `json:"profiler_kind,omitempty"`
	// Note says what could not be learnt, "" for nothing.
	Note string `json:"note,omitempty"`
	// ChunkedPrefill is the most tokens of a prompt that one pass takes, 0 when not said: a longer prompt runs in
	// several.
	ChunkedPrefill int `json:"chunked_prefill_size,omitempty"`

	front    Front          // the front end, where the answer shows it
	expected []rank         // the processes that write a trace each, nil when unknown
	document map[string]any // the whole answer, secrets blotted out
}

// identity differs between two starts of a server. Both fields may be empty.
type identity struct {
	Started time.Time `json:"started,omitzero"`
	// Seed is the random seed of the launch: SGLang draws one.
	Seed string `json:"seed,omitempty"`
}

// restarted reports whether now is known to be another life of the server than the one noted at opened.
func (i identity) restarted(now identity, opened time.Time) bool {
	return now.Started.After(opened.Add(clockSlack)) || i.Seed != "" && now.Seed != "" && i.Seed != now.Seed
}

// routes is what a server's own description says. The zero value and nil say nothing.
type routes struct {
	posts  map[string]bool
	fields map[Field]bool // keys of a start request, nil without a schema
}

// has is Unknown for a server that does not describe itself.
func (r *routes) has(path string) Outcome {
	switch {
	case r == nil || len(r.posts) == 0:
		return Unknown
	case r.posts[path]:
		return Pass
	}
	return Fail
}

func (r *routes) knows() bool        { return r != nil && r.fields != nil }
func (r *routes) field(f Field) bool { return r != nil && r.fields[f] }

// describe reads /openapi.json. A profiler route is not touched to find out whether it is there: a GET starts SGLang's
// profiler.
func describe(ctx context.Context, c *client) *routes {
	text, err := c.get(ctx, "/openapi.json")
	type schema struct {
		Ref        string                     `json:"$ref"`
		AnyOf      []json.RawMessage          `json:"anyOf"`
		AllOf      []json.RawMessage          `json:"allOf"`
		Properties map[string]json.RawMessage `json:"properties"`
	}
	var doc struct {
		Paths map[string]struct {
			Post *struct {
				Body struct {
					Content map[string]struct {
						Schema json.RawMessage `json:"schema"`
					} `json:"content"`
				} `json:"requestBody"`
			} `json:"post"`
		} `json:"paths"`
		Components struct {
			Schemas map[string]json.RawMessage `json:"schemas"`
		} `json:"components"`
	}
	if err != nil || json.Unmarshal(text, &doc) != nil || len(doc.Paths) == 0 {
		return nil
	}
	r := &routes{posts: map[string]bool{}}
	for path, p := range doc.Paths {
		r.posts[path] = p.Post != nil
	}
	var collect func(raw json.RawMessage, depth int)
	collect = func(raw json.RawMessage, depth int) {
		var s schema
		if depth > 4 || json.Unmarshal(raw, &s) != nil {
			return
		}
		for name := range s.Properties {
			if r.fields == nil {
				r.fields = map[Field]bool{}
			}
			r.fields[Field(name)] = true
		}
		if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
			collect(doc.Components.Schemas[name], depth+1)
		}
		for _, part := range append(s.AnyOf[:min(len(s.AnyOf), 8)], s.AllOf[:min(len(s.AllOf), 8)]...) {
			collect(part, depth+1)
		}
	}
	if p := doc.Paths[startPath]; p.Post != nil {
		collect(p.Post.Body.Content["application/json"].Schema, 0)
	}
	return r
}

// target is one engine to profile.
type target struct {
	c        *client
	f        Framework
	con      *Contract
	listed   *routes
	role     Role
	info     ServerInfo
	evidence string
	id       identity
	dir      string // its folder below the stage's, "" where it is the only one
}

// deployment is where requests go and which engines are profiled.
type deployment struct {
	targets []*target
	load    []*generator // taken in turn
	gateway string       // its sort, "" without one
	notes   []string
}

// close lets go of all connections.
func (d *deployment) close() {
	for _, t := range d.targets {
		t.c.close()
	}
	for _, g := range d.load {
		g.c.close()
	}
}

// detect finds out which server answers. A framework named in the output directory decides (routes do not
// distinguish TensorRT-LLM from vLLM); else /server_info with an SGLang key, else /readiness for TokenSpeed, else
// /v1/models for vLLM. It fails with a [*ServerError] when nothing answers.
func detect(ctx context.Context, c *client, outputDir string) (Framework, string, error) {
	if f := pathHint(outputDir); f != FrameworkAuto {
		return f, fmt.Sprintf("the output path %s names it", outputDir), nil
	}
	doc, path, err := sglangInfo(ctx, c)
	if err == nil {
		for _, key := range []string{"internal_states", "tokenizer_path"} {
			if _, ok := doc[key]; ok {
				return FrameworkSGLang, fmt.Sprintf("%s has %q", path, key), nil
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return "", "", err
	}
	// Nothing listening, nothing answering, or nothing without a key: the other routes would only repeat it, each with
	// its own timeout.
	if unreachable(err) || unauthorized(err) {
		return "", "", err
	}
	if _, err := c.get(ctx, "/readiness"); err == nil {
		return FrameworkTokenSpeed, "/readiness answers", nil
	} else if ctx.Err() != nil {
		return "", "", ctx.Err()
	}
	if _, err = c.get(ctx, "/v1/models"); err == nil {
		return FrameworkVLLM, "/v1/models answers, /server_info and /readiness do not", nil
	}
	return "", "", mark(fmt.Errorf("capture: no known server at %s (tried /server_info, /readiness, /v1/models); name it with --framework: %w", c.base, err), ErrNoServer)
}

// newTarget asks one engine everything that is asked before a start request.
func newTarget(ctx context.Context, c *client, o *Options, role Role) (*target, error) {
	t := &target{c: c, f: o.Framework, evidence: "given", role: role}
	var err error
	if t.f == FrameworkAuto {
		if t.f, t.evidence, err = detect(ctx, c, o.OutputDir); err != nil {
			return nil, err
		}
	}
	switch t.f {
	case FrameworkSGLang:
		t.info, err = sglangServer(ctx, c)
	default:
		t.info, err = openAIServer(ctx, c, t.f, o.Model)
	}
	if err != nil {
		return nil, withHint(err, "is "+t.f.Title()+" running there?")
	}
	if o.Model != "" {
		t.info.Model = o.Model
	}
	if t.role == RoleAll {
		t.role = t.info.Role
	}
	t.listed = describe(ctx, c)
	t.con = contractOf(t.f, t.info.front, t.listed)
	t.id = identify(ctx, t)
	return t, ctx.Err()
}

// findGateway recognises a gateway by an answer that no engine gives.
func findGateway(ctx context.Context, c *client) (name, what string, workers []workerURL, err error) {
	for _, g := range gateways {
		text, err := c.get(ctx, g.path)
		if unreachable(err) || unauthorized(err) || ctx.Err() != nil {
			return "", "", nil, err
		}
		var doc map[string]json.RawMessage
		var list []map[string]json.RawMessage
		switch {
		case err != nil:
			continue
		case json.Unmarshal(text, &doc) != nil:
			if json.Unmarshal(text, &list) != nil || len(list) == 0 {
				continue
			}
			doc = list[0]
			if g.workers != nil {
				doc = map[string]json.RawMessage{"workers": list[0]["url"]}
			}
		}
		found := true
		for _, k := range g.keys {
			found = found && (k == "" || doc[k] != nil)
		}
		if doc["tokenizer_path"] != nil || doc["internal_states"] != nil {
			found = false // SGLang's own
		}
		if found && g.workers != nil {
			workers = g.workers(text)
		}
		if found {
			return g.name, g.what, workers, nil
		}
	}
	return "", "", nil, nil
}

// discover finds the engines to profile and where requests go, by questions without effects.
func discover(ctx context.Context, o *Options, dry func(c *client, method, path string, body []byte)) (d *deployment,
	err error) {
	d = &deployment{}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	open := func(address string) (*client, error) {
		c, err := newClient(address, o)
		if err == nil {
			c.dry = dry
		}
		return c, err
	}
	front, err := open(o.URL)
	if err != nil {
		return d, err
	}
	defer func() {
		if err != nil {
			front.close()
		}
	}()
	var what string
	var workers []workerURL
	if o.Framework != FrameworkTokenSpeed { // whose gateway passes profiler requests on
		if d.gateway, what, workers, err = findGateway(ctx, front); err != nil {
			return d, err
		}
	}
	for _, u := range o.Workers {
		workers = append(workers, workerURL{URL: u})
	}
	if len(workers) > maxWorld {
		return d, fmt.Errorf("capture: %s lists %d workers: %w; name those to profile with --url", front.base,
			len(workers), ErrGateway)
	}
	if d.gateway != "" && len(workers) == 0 {
		return d, fmt.Errorf("capture: %s is a %s: %w; %s", front.base, d.gateway, ErrGateway, what)
	}
	if d.gateway == "" {
		t, terr := newTarget(ctx, front, o, RoleAll)
		switch {
		case terr == nil && (t.listed.has(startPath) != Fail || len(workers) == 0):
			d.targets = append(d.targets, t)
		case len(workers) == 0 || unreachable(terr) || unauthorized(terr):
			return d, terr
		default:
			d.gateway = "front"
		}
	}
	for _, w := range workers {
		if !strings.HasPrefix(w.URL, "http") && strings.Contains(w.URL, "://") {
			return d, fmt.Errorf("capture: %s lists %s, which does not speak HTTP: %w; name the HTTP address of the engine with --url", front.base, w.URL, ErrGateway)
		}
		if !local(w.URL, append([]string{o.URL}, o.Workers...)...) {
			return d, fmt.Errorf("capture: %s lists %s on another host: %w; add --url %s to profile it", front.base,
				shownURL(w.URL), ErrGateway, shownURL(w.URL))
		}
		c, err := open(w.URL)
		if err != nil {
			return d, err
		}
		t, err := newTarget(ctx, c, o, w.Role)
		if err != nil {
			c.close()
			return d, fmt.Errorf("worker %s: %w", c.base, err)
		}
		t.dir = fmt.Sprintf("worker-%d", len(d.targets))
		d.targets = append(d.targets, t)
	}
	if len(d.targets) > 1 {
		d.targets[0].dir = "worker-0"
	}
	from := []*client{front}
	if d.gateway == "" {
		from = nil
		for _, t := range d.targets {
			from = append(from, t.c)
		}
	} else {
		d.notes = append(d.notes, fmt.Sprintf("requests go through the %s at %s, %d engines behind it are profiled",
			d.gateway, front.base, len(d.targets)))
	}
	for _, c := range from {
		d.load = append(d.load, &generator{c: c, f: d.targets[0].f, model: d.targets[0].info.Model,
			completions: new(atomic.Bool)})
	}
	return d, nil
}

// check refuses what the deployment cannot do, before anything is sent to its profiler or model.
func (d *deployment) check(o *Options) error {
	for _, t := range d.targets {
		switch {
		case t.con.Start == "" && t.con.Front != FrontEnv, t.listed.has(startPath) == Fail && t.con.Front != FrontEnv:
			return fmt.Errorf("capture: %s has no %s: %w; %s", t.c.base, startPath, ErrNoRoute, t.con.howToLaunch())
		case o.Nsys && t.info.Kind == KindTorch || !o.Nsys && t.info.Kind != "" && t.info.Kind != KindTorch:
			return fmt.Errorf("capture: %s was launched with profiler %s: %w; %s", t.c.base, t.info.Kind, ErrWrongKind,
				kindAdvice(o.Nsys))
		case t.role != RoleAll && d.gateway == "" && o.Attach <= 0:
			return fmt.Errorf("capture: %s is the %s half of a split deployment, which takes no requests of its own: %w; give its router with --url ROUTER, or --attach 30s to profile the traffic that is there", t.c.base, t.role, ErrUnsupported)
		}
	}
	return nil
}

// kindAdvice says how to get the kind that was asked for.
func kindAdvice(nsys bool) string {
	if nsys {
		return `--nsys needs --profiler-config '{"profiler": "cuda"}' under nsys (capture doctor prints the line)`
	}
	return `launch it with "profiler": "torch", or capture with --nsys under nsys`
}

// runs are the engines that run the passes of a stage.
func (d *deployment) runs(s Stage) []*target {
	var out []*target
	for _, t := range d.targets {
		if t.role.runs(s) {
			out = append(out, t)
		}
	}
	return out
}

// sglangInfo fetches the server's information and says from where.
func sglangInfo(ctx context.Context, c *client) (doc map[string]any, path string, err error) {
	path = "/server_info"
	doc, err = c.getJSON(ctx, path)
	if noRoute(err) { // the name before 0.5
		if old, err := c.getJSON(ctx, "/get_server_info"); err == nil {
			return old, "/get_server_info", nil
		}
	}
	return doc, path, err
}

// sglangServer reads the flat server arguments. A server that answers and has no information can still be profiled.
func sglangServer(ctx context.Context, c *client) (ServerInfo, error) {
	doc, path, err := sglangInfo(ctx, c)
	if err != nil {
		if unreachable(err) || unauthorized(err) || ctx.Err() != nil {
			return ServerInfo{}, err
		}
		return ServerInfo{Note: fmt.Sprintf("no server information: %v", err)}, nil
	}
	in := ServerInfo{
		Endpoint: path, Model: firstString(doc, "model_path", "served_model_name", "model"),
		Version: firstString(doc, "version"),
		TP:      intField(doc, "tp_size"), PP: intField(doc, "pp_size"), DP: intField(doc, "dp_size"),
		EP:    intField(doc, "ep_size"),
		Nodes: intField(doc, "nnodes"), ChunkedPrefill: intField(doc, "chunked_prefill_size"), document: c.redact(doc),
	}
	_ = in.Role.UnmarshalText([]byte(firstString(doc, "disaggregation_mode"))) // unknown words: both stages
	if _, rust := doc["max_context_length"]; rust && in.TP == 0 {
		in.front = FrontRust
	}
	in.expected = sglangRanks(doc, in)
	return in, nil
}

// sglangRanks lists the processes that write a trace. Under data parallel attention the DP ranks are TP ranks too;
// without it, each DP replica has its own TP group.
func sglangRanks(doc map[string]any, in ServerInfo) []rank {
	tp, pp, dp := max(in.TP, 1), max(in.PP, 1), max(in.DP, 1)
	if in.TP == 0 {
		return nil // not said
	}
	if b, _ := doc["enable_dp_attention"].(bool); b {
		dp = 1
	}
	if tp > maxWorld || pp > maxWorld || dp > maxWorld || tp*pp*dp > maxWorld {
		return nil
	}
	var ranks []rank
	for d := range dp {
		for p := range pp {
			for t := range tp {
				r := rankOf(none)
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

// openAIServer asks /v1/models and settles the model's name. It also asks TokenSpeed whether it is ready, and vLLM for
// its settings, which are available in development mode only.
func openAIServer(ctx context.Context, c *client, f Framework, model string) (ServerInfo, error) {
	const path = "/v1/models"
	in := ServerInfo{Endpoint: path, Model: model}
	if f == FrameworkTokenSpeed {
		if _, err := c.get(ctx, "/readiness"); err != nil {
			if unreachable(err) || ctx.Err() != nil {
				return in, err
			}
			in.Note = fmt.Sprintf("not ready: %v", err)
		}
	}
	listed, err := c.getJSON(ctx, path)
	if err == nil {
		in.document = c.redact(listed)
		if id := firstModel(listed); id == "" {
			err = c.fail(http.MethodGet, path, http.StatusOK, nil, errors.New("lists no model"))
		} else if model == "" {
			in.Model = id
		}
	}
	switch {
	case err == nil:
	case model != "" && !unreachable(err) && !unauthorized(err):
		in.Note = fmt.Sprintf("no model list: %v", err) // the name was given; the list is not needed
	case unreachable(err), unauthorized(err):
		return in, err
	default:
		return in, withHint(err, "name the model with --model")
	}
	// What triage looks for beside a trace.
	doc := map[string]any{"framework": string(f), "model": in.Model}
	for k, v := range in.document {
		if _, taken := doc[k]; !taken {
			doc[k] = v
		}
	}
	in.document = doc
	if v, err := c.getJSON(ctx, "/version"); err == nil {
		in.Version = firstString(v, "version")
	}
	if f == FrameworkVLLM {
		in.vllmSettings(ctx, c)
	}
	return in, nil
}

// vllmSettings reads the settings that a server in development mode reports.
func (in *ServerInfo) vllmSettings(ctx context.Context, c *client) {
	doc, err := c.getJSON(ctx, "/server_info?config_format=json")
	settings, _ := doc["vllm_config"].(map[string]any)
	if err != nil || settings == nil {
		return
	}
	part := func(name string) map[string]any { p, _ := settings[name].(map[string]any); return p }
	if k := firstString(part("profiler_config"), "profiler"); k != "" {
		_ = in.Kind.UnmarshalText([]byte(k)) // never fails
	}
	p := part("parallel_config")
	in.TP, in.PP, in.DP, in.Nodes = intField(p, "tensor_parallel_size"), intField(p, "pipeline_parallel_size"),
		intField(p, "data_parallel_size"), intField(p, "nnodes")
	in.ChunkedPrefill = intField(part("scheduler_config"), "max_num_batched_tokens")
}

// identify asks what differs from launch to launch: the start of the process as Prometheus clients report it, and the
// seed that SGLang draws.
func identify(ctx context.Context, t *target) identity {
	var id identity
	if seed, ok := t.info.document["random_seed"].(float64); ok {
		id.Seed = strconv.FormatFloat(seed, 'f', -1, 64)
	}
	text, err := t.c.get(ctx, "/metrics")
	if err != nil {
		return id
	}
	sc := bufio.NewScanner(bytes.NewReader(text))
	sc.Buffer(nil, maxAnswer)
	for sc.Scan() {
		if v, ok := strings.CutPrefix(sc.Text(), "process_start_time_seconds "); ok {
			if s, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil && s > 0 && s < 1e11 {
				id.Started = time.Unix(0, int64(s*1e9))
			}
		}
	}
	return id
}

// firstModel is the id of the first entry of data.
func firstModel(doc map[string]any) string {
	list, _ := doc["data"].([]any)
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			if id := firstString(m, "id", "root"); id != "" {
				return id
			}
		}
	}
	return ""
}

// firstString is the first of keys with a string that is not empty.
func firstString(doc map[string]any, keys ...string) string {
	for _, k := range keys {
		if s, ok := doc[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// intField is a whole number, 0 for anything else.
func intField(doc map[string]any, key string) int {
	if f, ok := doc[key].(float64); ok && f >= 0 && f <= 1<<20 && f == float64(int(f)) {
		return int(f)
	}
	return 0
}
