package capture

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/internal/vocabulary"
)

// Field is a key in the body of a start request.
type Field string

// The keys that the servers know.
const (
	FieldOutputDir       Field = "output_dir"
	FieldNumSteps        Field = "num_steps"
	FieldActivities      Field = "activities"
	FieldByStage         Field = "profile_by_stage"
	FieldMerge           Field = "merge_profiles"
	FieldPrefix          Field = "profile_prefix"
	FieldStartStep       Field = "start_step"
	FieldWithStack       Field = "with_stack"
	FieldRecordShapes    Field = "record_shapes"
	FieldProfileID       Field = "profile_id"
	FieldStages          Field = "profile_stages"
	FieldShapeDiscovery  Field = "shape_discovery"
	FieldRoofline        Field = "roofline_annotations"
	FieldDelayIterations Field = "delay_iterations"
	FieldMaxIterations   Field = "max_iterations"
)

// Kind is what a server's profiler records.
type Kind string

// The kinds.
const (
	KindTorch  Kind = "torch"
	KindCUDA   Kind = "cuda" // cudaProfilerApi ranges, which Nsight Systems records; no file of the server's own
	KindProton Kind = "proton"
	KindOther  Kind = "other" // RPD, memory snapshots, VizTracer
)

// UnmarshalText reads a kind as a server's settings have it; one that is not known is [KindOther].
func (k *Kind) UnmarshalText(text []byte) error {
	if vocabulary.Set(k, "kind", text, KindTorch, KindCUDA, KindProton) != nil {
		*k = KindOther
	}
	return nil
}

// Front is what takes the profiler's requests.
type Front string

// The front ends.
const (
	FrontPython  Front = "python"
	FrontRust    Front = "rust"
	FrontGateway Front = "gateway"
	FrontEnv     Front = "env" // none: the environment of the launch fixes the window
)

// Contract is what one build of a server, or a gateway before it, does when it is profiled. A version number never
// decides alone, since most servers ignore unknown fields with 200: a contract's key is server, front end and a
// feature that the server shows ([Contract.Probe]).
type Contract struct {
	Name      string    `json:"name"`      // name of the contract
	Framework Framework `json:"framework"` // serving framework
	Front     Front     `json:"front"`     // what answers: the server itself, a router or a proxy
	Versions  string    `json:"versions"`  // releases that the contract is for
	// Probe says what shows this contract.
	Probe string `json:"probe"`
	// Start and Stop are POST routes, "" for none. Enabled says what opens them.
	Start   string `json:"start"`
	Stop    string `json:"stop"`
	Enabled string `json:"enabled"`
	// Fields are sent always, Listed where the server's own schema lists them. A schema that lacks a field of
	// Fields keeps it from being sent.
	Fields []Field `json:"fields"`
	Listed []Field `json:"listed"`
	// Unknown says what becomes of other fields. Ignores: they do no harm, so that those of Listed are sent to a
	// server without a schema, too.
	Unknown string `json:"unknown_fields"`
	Ignores bool   `json:"ignores_unknown"`
	// Answers says what statuses mean.
	Answers string `json:"answers"`
	// Ends says when a window closes by itself.
	Ends string `json:"ends"`
	// SelfStop: the window closes after the steps that were sent, which are Extra more than the passes wanted.
	SelfStop bool `json:"self_stop"`
	Extra    int  `json:"extra_steps"`
	// OwnDir: traces land in the folder that the request names; else in one fixed at launch, from which they are
	// moved. Rewrites: the name is fixed, so a second run replaces the first one's file.
	OwnDir   bool `json:"own_dir"`
	Rewrites bool `json:"rewrites"`
	// StopAgain: a second stop request does no harm. Flushed: a stop is answered once the traces are written.
	StopAgain bool `json:"stop_again"`
	Flushed   bool `json:"flushed"`
	// Files is the form of the names, Kinds what can be recorded.
	Files string `json:"files"`
	Kinds []Kind `json:"kinds"`
	// Generate are the routes that requests go to, the next where one is refused.
	Generate []string `json:"generate"`
	// Traps are limits and bugs worth a line of doctor's.
	Traps []string `json:"traps"`
	// Source is file and commit, or pull request, of these facts; Unverified what was concluded only.
	Source     string `json:"source"`
	Unverified string `json:"unverified,omitempty"`

	// ProfileID and Prefix are what profile_id and, where nobody gave one, profile_prefix are made of: {id} is the
	// window's own, {dashes} the same without dots, {prefix} what was given, {stage} the stage.
	ProfileID string `json:"profile_id,omitempty"`
	Prefix    string `json:"profile_prefix,omitempty"`
	// Stacks and Shapes are asked for where nobody says.
	Stacks bool `json:"with_stack,omitempty"`
	Shapes bool `json:"record_shapes,omitempty"`
	// Launch is what the server must be launched with, "" for what its framework says.
	Launch string `json:"launch,omitempty"`
}

// facts are what is known of servers: contracts.json.
type facts struct {
	// Read is when the sources were read.
	Read string
	// Contracts is the table. The first row of a framework is its default.
	Contracts []Contract
	// Signs are looked for in this order, those of gateways first, which may answer for an engine.
	Signs []sign
	// Frameworks are what the servers of each have in common.
	Frameworks []dialect
	// Endings are of files that a profiler of another kind than torch's leaves.
	Endings []struct {
		Ending string
		Kind   Kind
	}
}

// sign is an answer that shows who is there: an engine, or a gateway, which passes requests on and has no profiler.
type sign struct {
	Path      string
	Keys      []string // the answer, or the first of a list, has one of them; nil: any answer will do
	Framework Framework
	// Gateway is its name, What to do where it lists no workers; Source is where its answer is from.
	Gateway, What, Source string
}

// dialect is how servers of a framework are launched and asked.
type dialect struct {
	Framework Framework
	// Formal, Mapping and Nsys are commands, in which {model}, {dir}, {passes} and {last} are replaced by what is asked
	// for: for traces whose times count, for those that lead back to source, and under Nsight Systems.
	Formal, Mapping, Nsys string
	Questions             []question
}

// question is a request before anything is sent to a profiler or model.
type question struct {
	Path string
	Old  string // its name in older releases
	// Says is where the answer says what, as paths for [dig]. Ranks: its sizes are those of the processes that write a
	// trace each.
	Says  map[string]string
	Ranks bool
	Lack  string // the note where it is not answered, "" where that is usual
	// Model: who does not say it cannot be sent requests. Document: the answer is kept beside the traces.
	Model, Document bool
}

//go:embed contracts.json
var contractsText []byte

// known reads the facts, once.
var known = sync.OnceValue(func() *facts {
	var f facts
	d := json.NewDecoder(bytes.NewReader(contractsText))
	d.DisallowUnknownFields()
	if err := d.Decode(&f); err != nil {
		panic(fmt.Sprintf("capture: contracts.json: %v", err)) // a test reads it
	}
	return &f
})

// dialect is that of the contract's framework.
func (c *Contract) dialect() dialect {
	all := known().Frameworks
	if i := slices.IndexFunc(all, func(d dialect) bool { return d.Framework == c.Framework }); i >= 0 {
		return all[i]
	}
	return dialect{}
}

// howToLaunch says what the server must be launched with.
func (c *Contract) howToLaunch() string { return cmp.Or(c.Launch, c.Framework.known().Launch) }

// The routes that all servers with a profiler share.
const (
	startPath   = "/start_profile"
	stopPath    = "/stop_profile"
	routeModels = "/v1/models"
)

// listedWorkers reads {"workers": [{"url", "worker_type"}]} and [{"url", "mode"}].
func listedWorkers(text []byte) []Worker {
	type worker struct {
		URL  string `json:"url"`
		Type Role   `json:"worker_type"`
		Mode Role   `json:"mode"`
	}
	var doc struct{ Workers []worker }
	if json.Unmarshal(text, &doc) != nil && json.Unmarshal(text, &doc.Workers) != nil {
		return nil
	}
	var out []Worker
	for _, w := range doc.Workers {
		if base, _, ok := strings.Cut(w.URL, "@"); ok && !strings.Contains(base, "/@") {
			w.URL = base // BASE@RANK: one engine, registered once per DP rank
		}
		if w.URL != "" && !slices.ContainsFunc(out, func(o Worker) bool { return o.URL == w.URL }) {
			out = append(out, Worker{URL: w.URL, Role: cmp.Or(w.Type, w.Mode)})
		}
	}
	return out
}

// contractOf picks the row of a framework. listed is nil where the server does not describe its routes.
func contractOf(f Framework, front Front, listed *routes) *Contract {
	var first *Contract
	all := known().Contracts
	for i := range all {
		c := &all[i]
		if c.Framework != f {
			continue
		}
		switch {
		case front != "" && c.Front == front:
			return c
		case listed.starts() == Fail && c.Front == FrontEnv:
			return c
		case slices.ContainsFunc(c.Listed, listed.field) && len(c.Fields) == 0:
			return c
		}
		first = cmp.Or(first, c)
	}
	return first
}

// takes reports whether a start request to the engine may have one of the fields: what its own description lists, else
// what its contract knows.
func (t *target) takes(fields ...Field) bool {
	return slices.ContainsFunc(fields, func(f Field) bool {
		if t.listed.knows() && !t.listed.field(f) {
			return false
		}
		return slices.Contains(t.con.Fields, f) || slices.Contains(t.con.Listed, f) &&
			(t.listed.knows() || t.con.Ignores)
	})
}

// windowID looks like the one that SGLang makes, and is not likely to be anybody else's.
func windowID(now time.Time) string {
	return fmt.Sprintf("%d.%06d", now.Unix(), now.Nanosecond()/1000)
}

// value of a field in a start request to an engine, nil to leave it out.
func (s *stageRun) value(f Field, t *target) any {
	optional := func(set bool, v any) any {
		if !set {
			return nil
		}
		return v
	}
	o, c, stage := &s.o, t.con, s.plan.stage
	name := func(template string) string {
		return strings.NewReplacer("{id}", s.ID, "{dashes}", strings.ReplaceAll(s.ID, ".", "-"), "{prefix}",
			cmp.Or(o.ProfilePrefix, "profile"), "{stage}", string(stage)).Replace(template)
	}
	shapes := c.Shapes
	if o.RecordShapes != nil {
		shapes = *o.RecordShapes
	}
	switch f {
	case FieldOutputDir:
		return s.serverDir(t)
	case FieldNumSteps:
		return s.plan.steps + c.Extra
	case FieldActivities:
		return o.Activities
	case FieldByStage:
		return s.ByStage
	case FieldMerge:
		return o.MergeProfiles
	case FieldPrefix:
		prefix := cmp.Or(o.ProfilePrefix, name(c.Prefix))
		return optional(prefix != "", prefix)
	case FieldStartStep, FieldDelayIterations:
		return optional(o.StartStep > 0, o.StartStep)
	case FieldMaxIterations:
		return s.plan.passes()
	case FieldWithStack:
		return optional(o.WithStack != nil || c.Stacks, o.WithStack == nil || *o.WithStack)
	case FieldRecordShapes: // releases of SGLang differ in what its absence means
		return shapes
	case FieldProfileID:
		return name(c.ProfileID)
	case FieldStages: // SGLang's V2 profiler records no other stage; the others ignore it
		return optional(stage != StageLegacy, []string{string(stage)})
	case FieldShapeDiscovery, FieldRoofline: // both name the shapes of a launch, at the cost of a string each
		return optional(shapes, true)
	}
	return nil
}

// body is a start request to an engine in the order of the fields; nil where it reads none.
func (s *stageRun) body(t *target, fields []Field) []byte {
	var b []byte
	for _, f := range fields {
		if v := s.value(f, t); v != nil && t.takes(f) {
			text, _ := json.Marshal(v) // no value above fails
			b = fmt.Appendf(b, ",%q:%s", f, text)
		}
	}
	if len(b) == 0 {
		return nil
	}
	b[0] = '{'
	return append(b, '}')
}

// kindOf is the kind of profiler other than torch's that leaves a file of this name, "" for none of them.
func kindOf(name string) Kind {
	b := strings.ToLower(path.Base(name))
	for _, k := range known().Endings {
		if strings.HasSuffix(b, k.Ending) {
			return k.Kind
		}
	}
	return ""
}

// words is a contract for people.
func (c *Contract) words() []string {
	out := []string{fmt.Sprintf("contract %s (%s, %s): %s", c.Name, c.Front, c.Versions, c.Probe)}
	fields, extra := strings.Trim(fmt.Sprint(slices.Concat(c.Fields, c.Listed)), "[]"), ""
	if c.Extra > 0 {
		extra = strconv.Itoa(c.Extra) + " more than asked"
	}
	for _, l := range [][2]string{{"routes enabled by", c.Enabled}, {"fields", fields}, {"other fields", c.Unknown},
		{"answers", c.Answers}, {"window ends", c.Ends}, {"steps sent", extra}, {"files", c.Files},
		{"sources read " + known().Read, c.Source}, {"not verified", c.Unverified}} {
		if l[1] != "" {
			out = append(out, l[0]+": "+l[1])
		}
	}
	return append(out, c.Traps...)
}
