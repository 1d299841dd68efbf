package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/internal/framework"
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

// learn reads what the answer to a question has; facts that it lacks stay as they are.
func (in *ServerInfo) learn(doc map[string]any, q question) {
	said := func(fact string) any { return dig(doc, q.Says[fact]) }
	for fact, to := range map[string]*string{"model": &in.Model, "version": &in.Version} {
		s, _ := said(fact).(string)
		*to = cmp.Or(*to, s)
	}
	for fact, to := range map[string]*int{"tp": &in.TP, "pp": &in.PP, "dp": &in.DP, "ep": &in.EP, "nodes": &in.Nodes,
		"chunk": &in.ChunkedPrefill} {
		*to = cmp.Or(*to, whole(said(fact)))
	}
	if s, ok := said("role").(string); ok {
		_ = in.Role.UnmarshalText([]byte(s)) // never fails
	}
	if s, ok := said("kind").(string); ok && s != "" {
		_ = in.Kind.UnmarshalText([]byte(s)) // never fails
	}
	if said("rust") != nil && in.TP == 0 {
		in.front = FrontRust
	}
	if q.Ranks && in.TP > 0 {
		attention, _ := said("attention").(bool)
		in.expected = in.ranks(attention)
	}
}

// ranks lists the processes that write a trace. Under data parallel attention the DP ranks are TP ranks too; without
// it, each DP replica has its own TP group.
func (in *ServerInfo) ranks(attention bool) []rank {
	tp, pp, dp := in.TP, max(in.PP, 1), max(in.DP, 1)
	if attention {
		dp = 1
	}
	if tp > maxWorld || pp > maxWorld || dp > maxWorld || tp*pp*dp > maxWorld {
		return nil
	}
	ranks := firstRanks(axisTP, dp*pp*tp)
	for i := range ranks {
		r := &ranks[i]
		r[axisTP] = i % tp
		if pp > 1 {
			r[axisPP] = i / tp % pp
		}
		if dp > 1 {
			r[axisDP] = i / tp / pp
		}
	}
	return ranks
}

// dig is the value that a path of keys leads to in a decoded document, the first element where it meets a list; nil
// for none. Spaces separate keys, bars separate paths: the first that leads to a value counts.
func dig(doc any, paths string) any {
	for path := range strings.SplitSeq(paths, "|") {
		v := doc
		for key := range strings.FieldsSeq(path) {
			if list, ok := v.([]any); ok && len(list) > 0 {
				v = list[0]
			}
			m, _ := v.(map[string]any)
			v = m[key]
		}
		if v != nil && path != "" {
			return v
		}
	}
	return nil
}

// whole is a whole number, 0 for anything else.
func whole(v any) int {
	if f, ok := v.(float64); ok && f >= 0 && f <= 1<<20 && f == float64(int(f)) {
		return int(f)
	}
	return 0
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

// processStart is the line in which Prometheus clients report the start of the process.
var processStart = regexp.MustCompile(`(?m)^process_start_time_seconds ([0-9.eE+]+)\s*$`)

// routes is what a server's own description says; nil says nothing.
type routes struct {
	start  bool           // it has the profiler's route
	fields map[Field]bool // keys of a start request, nil without a schema
}

// starts reports whether the server can be profiled, Unknown for one that does not describe itself.
func (r *routes) starts() Outcome {
	switch {
	case r == nil:
		return Unknown
	case r.start:
		return Pass
	}
	return Fail
}

func (r *routes) knows() bool        { return r != nil && r.fields != nil }
func (r *routes) field(f Field) bool { return r != nil && r.fields[f] }

// describe reads /openapi.json. A profiler route is not touched to find out whether it is there: a GET starts SGLang's
// profiler.
func describe(ctx context.Context, c *client) *routes {
	var doc map[string]any
	text, err := c.get(ctx, "/openapi.json")
	if err == nil {
		doc, err = c.object("/openapi.json", text)
	}
	paths, _ := doc["paths"].(map[string]any)
	if err != nil || len(paths) == 0 {
		return nil
	}
	r := &routes{start: dig(paths[startPath], "post") != nil}
	seen := map[any]bool{"": true}
	var collect func(schema any)
	collect = func(schema any) {
		properties, _ := dig(schema, "properties").(map[string]any)
		if len(properties) > 0 && r.fields == nil {
			r.fields = map[Field]bool{}
		}
		for name := range properties {
			r.fields[Field(name)] = true
		}
		ref, _ := dig(schema, "$ref").(string)
		if !seen[ref] {
			seen[ref] = true
			collect(dig(doc, "components schemas "+strings.TrimPrefix(ref, "#/components/schemas/")))
		}
		anyOf, _ := dig(schema, "anyOf").([]any)
		allOf, _ := dig(schema, "allOf").([]any)
		for _, part := range slices.Concat(anyOf, allOf) {
			collect(part)
		}
	}
	collect(dig(paths, startPath+" post requestBody content application/json schema"))
	return r
}

// target is one engine to profile.
type target struct {
	c        *client
	con      *Contract
	listed   *routes
	role     Role
	info     ServerInfo
	evidence string
	id       identity
	dir      string // its folder below the stage's, "" where it is the only one
}

// newTarget asks one engine everything that is asked before a start request.
func newTarget(ctx context.Context, c *client, o *Options, role Role) (*target, error) {
	t := &target{c: c, evidence: "given", role: role}
	f, err := o.Framework, error(nil)
	if f == FrameworkAuto {
		if f, t.evidence, err = detect(ctx, c, o.OutputDir); err != nil {
			return nil, err
		}
	}
	t.con = contractOf(f, "", nil)
	if err := t.ask(ctx, o.Model); err != nil {
		return nil, withHint(err, "is "+f.Title()+" running there?")
	}
	t.identify(ctx)
	t.role = cmp.Or(t.role, t.info.Role)
	t.listed = describe(ctx, c)
	t.con = contractOf(f, t.info.front, t.listed)
	return t, ctx.Err()
}

// ask puts the framework's questions. model is its name where that is given; a server that has to be asked for it and
// does not say cannot be sent requests.
func (t *target) ask(ctx context.Context, model string) error {
	in := &t.info
	document := map[string]any{}
	var notes []string
	for _, q := range t.con.dialect().Questions {
		path := q.Path
		text, err := t.c.get(ctx, path)
		if noRoute(err) && q.Old != "" {
			if before, berr := t.c.get(ctx, q.Old); berr == nil {
				text, path, err = before, q.Old, nil
			}
		}
		var doc map[string]any
		if err == nil && len(q.Says) > 0 {
			doc, err = t.c.object(path, text)
		}
		in.learn(doc, q)
		if err == nil && q.Model && in.Model == "" {
			err = t.c.fail(http.MethodGet, path, http.StatusOK, nil, errors.New("lists no model"))
		}
		switch {
		case err != nil && q.Lack == "": // most servers do not answer it
		case closed(err):
			return err
		case err != nil && q.Model && model == "":
			return withHint(err, "name the model with --model")
		case err != nil:
			notes = append(notes, fmt.Sprintf("%s: %v", q.Lack, err))
		case q.Document:
			in.Endpoint, document = path, t.c.secrets.Document(doc).(map[string]any)
		}
		if seed, ok := dig(doc, q.Says["seed"]).(float64); ok {
			t.id.Seed = strconv.FormatFloat(seed, 'f', -1, 64)
		}
	}
	in.Model, in.Note = cmp.Or(model, in.Model), strings.Join(notes, "; ")
	// What triage looks for beside a trace.
	for k, v := range map[string]string{"framework": string(t.con.Framework), "model": in.Model} {
		if document[k] == nil && v != "" {
			document[k] = v
		}
	}
	in.document = document
	return nil
}

// identify asks when the process was started; what else differs from launch to launch is among what ask learns.
func (t *target) identify(ctx context.Context) {
	text, _ := t.c.get(ctx, "/metrics") // most servers have none
	if m := processStart.FindSubmatch(text); m != nil {
		if s, err := strconv.ParseFloat(string(m[1]), 64); err == nil && s > 0 && s < 1e11 {
			t.id.Started = time.Unix(0, int64(s*1e9))
		}
	}
}

// recognise asks what the signs of engines, or else of gateways, need until one shows. Without any, the error is that
// of the last question.
func recognise(ctx context.Context, c *client, engine bool) (s *sign, evidence string, text []byte, err error) {
	for i := range known().Signs {
		s := &known().Signs[i]
		if (s.Framework != FrameworkAuto) != engine {
			continue
		}
		text, err = c.get(ctx, s.Path)
		if unreachable(err) && ctx.Err() == nil {
			err = marked{err, ErrNoServer}
		}
		if closed(err) || ctx.Err() != nil { // the other routes would only repeat it, each with its own timeout
			return nil, "", nil, err
		}
		if err == nil && len(s.Keys) == 0 {
			return s, s.Path + " answers", text, nil
		}
		var doc any
		_ = json.Unmarshal(text, &doc) // what is no JSON has no keys
		for _, k := range s.Keys {
			if dig(doc, k) != nil {
				return s, fmt.Sprintf("%s has %q", s.Path, k), text, nil
			}
		}
	}
	return nil, "", nil, err
}

// detect finds out which server answers. A framework named in the output directory decides (routes do not
// distinguish TensorRT-LLM from vLLM); else the first of [signs] that shows.
func detect(ctx context.Context, c *client, outputDir string) (Framework, string, error) {
	if k, ok := framework.InPath(framework.All(), outputDir); ok && frameworkOf(k) != FrameworkAuto {
		return frameworkOf(k), fmt.Sprintf("the output path %s names it", outputDir), nil
	}
	s, evidence, _, err := recognise(ctx, c, true)
	switch {
	case s != nil:
		return s.Framework, evidence, nil
	case closed(err) || ctx.Err() != nil:
		return "", "", err
	}
	return "", "", fmt.Errorf("capture: no known server at %s (tried /server_info, /readiness, /v1/models); name it "+
		"with --framework: %w", c.base, marked{err, ErrNoServer})
}

// deployment is where requests go and which engines are profiled.
type deployment struct {
	targets []*target
	load    []*client // taken in turn
	gateway string    // its sort, "" without one
	notes   []string
	// route is the one of the contract that is asked first: those before it have failed where it has not, so that later
	// requests run one request's worth of steps only.
	route atomic.Int32
}

// discover finds the engines to profile and where requests go, by questions without effects.
func discover(ctx context.Context, o *Options) (d *deployment, err error) {
	front, err := newClient(o.URL, o)
	if err != nil {
		return nil, err
	}
	d = &deployment{load: []*client{front}}
	con := contractOf(o.Framework, "", nil)
	if o.dry != nil && con != nil {
		if _, err := front.get(ctx, routeModels); unreachable(err) && ctx.Err() == nil {
			d.targets = []*target{{c: front, con: con, evidence: "given; it does not answer",
				info: ServerInfo{Model: o.Model}}}
			return d, nil
		}
	}
	var gateway *sign
	var workers []Worker
	if con == nil || con.Front != FrontGateway { // which passes profiler requests on
		var text []byte
		if gateway, _, text, err = recognise(ctx, front, false); gateway != nil {
			d.gateway, workers = gateway.Gateway, listedWorkers(text)
		} else if closed(err) || ctx.Err() != nil {
			return d, err
		}
	}
	for _, u := range o.Workers {
		workers = append(workers, Worker{URL: u})
	}
	switch {
	case len(workers) > maxWorld:
		return d, fmt.Errorf("capture: %s lists %d workers: %w; name those to profile with --url", front.base,
			len(workers), ErrGateway)
	case gateway != nil && len(workers) == 0:
		return d, fmt.Errorf("capture: %s is a %s: %w; %s", front.base, d.gateway, ErrGateway, gateway.What)
	case gateway == nil:
		t, err := newTarget(ctx, front, o, RoleAll)
		switch {
		case err == nil && (t.listed.starts() != Fail || len(workers) == 0):
			d.targets = append(d.targets, t)
		case len(workers) == 0 || closed(err):
			return d, err
		default:
			d.gateway = "front"
		}
	}
	for _, w := range workers {
		t, err := worker(ctx, o, front.base, w)
		if err != nil {
			return d, err
		}
		d.targets = append(d.targets, t)
		if d.gateway == "" {
			d.load = append(d.load, t.c)
		}
	}
	if len(d.targets) > 1 {
		for i, t := range d.targets {
			t.dir = fmt.Sprintf("worker-%d", i)
		}
	}
	if d.gateway != "" {
		d.notes = append(d.notes, fmt.Sprintf("requests go through the %s at %s, its %d engines are profiled",
			d.gateway, front.base, len(d.targets)))
	}
	return d, nil
}

// worker asks an engine that a gateway lists or the user names.
func worker(ctx context.Context, o *Options, front string, w Worker) (*target, error) {
	if !strings.HasPrefix(w.URL, "http") && strings.Contains(w.URL, "://") {
		return nil, fmt.Errorf("capture: %s lists %s, which does not speak HTTP: %w; name the HTTP address of the engine "+
			"with --url", front, w.URL, ErrGateway)
	}
	if !local(w.URL, append([]string{o.URL}, o.Workers...)...) {
		return nil, fmt.Errorf("capture: %s lists %s on another host: %w; add --url %s to profile it", front,
			shownURL(w.URL), ErrGateway, shownURL(w.URL))
	}
	c, err := newClient(w.URL, o)
	if err != nil {
		return nil, err
	}
	t, err := newTarget(ctx, c, o, w.Role)
	if err != nil {
		return nil, fmt.Errorf("worker %s: %w", c.base, err)
	}
	return t, nil
}

// check refuses what the deployment cannot do, before anything is sent to its profiler or model.
func (d *deployment) check(o *Options) error {
	for _, t := range d.targets {
		switch {
		case t.con.Front != FrontEnv && (t.con.Start == "" || t.listed.starts() == Fail):
			return fmt.Errorf("capture: %s has no %s: %w; %s", t.c.base, startPath, ErrNoRoute, t.con.howToLaunch())
		case o.Nsys && t.info.Kind == KindTorch || !o.Nsys && t.info.Kind != "" && t.info.Kind != KindTorch:
			return fmt.Errorf("capture: %s was launched with profiler %s: %w; %s", t.c.base, t.info.Kind, ErrWrongKind,
				kindAdvice(o.Nsys))
		case t.role != RoleAll && d.gateway == "" && o.Attach <= 0:
			return fmt.Errorf("capture: %s is the %s half of a split deployment, which takes no requests of its own: %w; "+
				"give its router with --url ROUTER, or --attach 30s to profile the traffic that is there", t.c.base, t.role,
				ErrUnsupported)
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
