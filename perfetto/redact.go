package perfetto

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace/event"
)

// Redaction says what [Slice] hides, the zero value nothing. What stays is on a list of what is known
// and harmless; everything else goes: args that nobody knows, fields of the
// profiler's own events that hold a text where a number belongs, names of hosts,
// users and jobs. Names of public namespaces (aten, c10d, vllm, sglang, …) and
// of kernels that the rules of package classify know stay, since without them a
// trace cannot be analysed; [SliceStats.Names] lists all texts that remain, to
// be read before a file is sent.
//
// Replacements are numbered in order of appearance, so that equal texts stay
// equal within a file and nothing can be recovered from them.
type Redaction struct {
	// Paths hides folders and private file names in Python frames. Paths inside
	// well-known public packages keep their part from the package's root on.
	Paths bool
	// Names hides function, class, process, operator and annotation names that
	// are not public, and kernels that no rule knows. Layer numbers, the ending
	// that marks a decoder layer or a model, and what a step annotation says in
	// its framework's own words stay: passes and layers are found by them.
	Names bool
	// ModelFiles hides which files of the servers ran, but for those that every
	// model runs, and the functions in them: an unreleased model has a file.
	ModelFiles bool
	// Shapes removes tensor shapes, strides, types and scalar inputs of ops.
	Shapes bool
}

func (r Redaction) any() bool { return r.Paths || r.Names || r.Shapes || r.ModelFiles }

type redactor struct {
	what Redaction
	text map[string]string
	next map[string]int
	kept map[string]bool // texts that remain, of what was written
	made map[string]bool // replacements
	// kernels are names of kernels, and whether a rule knows them.
	kernels map[string]bool
}

func newRedactor(what Redaction) *redactor {
	if !what.any() {
		return nil
	}
	return &redactor{what, map[string]string{}, map[string]int{}, map[string]bool{}, map[string]bool{},
		map[string]bool{}}
}

// hide returns the replacement of text among those of one sort.
func (r *redactor) hide(sort, text string) string {
	k := sort + "\x00" + text
	if s, ok := r.text[k]; ok {
		return s
	}
	r.next[sort]++
	s := sort + strconv.Itoa(r.next[sort])
	r.text[k], r.made[s] = s, true
	return s
}

// rawEvent is an event whose parts are kept as they are in the file.
type rawEvent struct {
	Ph   json.RawMessage            `json:"ph,omitempty"`
	Cat  json.RawMessage            `json:"cat,omitempty"`
	Name json.RawMessage            `json:"name,omitempty"`
	PID  json.RawMessage            `json:"pid,omitempty"`
	TID  json.RawMessage            `json:"tid,omitempty"`
	TS   json.RawMessage            `json:"ts,omitempty"`
	Dur  json.RawMessage            `json:"dur,omitempty"`
	ID   json.RawMessage            `json:"id,omitempty"`
	BP   json.RawMessage            `json:"bp,omitempty"`
	S    json.RawMessage            `json:"s,omitempty"`
	Args map[string]json.RawMessage `json:"args,omitempty"`
}

// event returns the event with what must not be seen taken out, nil when it
// cannot be made safe.
func (r *redactor) event(ev *scan.Event) []byte {
	var e rawEvent
	if err := json.Unmarshal(ev.Raw, &e); err != nil {
		return nil
	}
	var name string
	if e.Name != nil && json.Unmarshal(e.Name, &name) != nil {
		name = "" // as the reader takes what is no text
	}
	if !r.fields(&e) {
		return nil
	}
	what := event.Kind(kind.Of(string(ev.Cat), name))
	switch {
	case ev.Phase == 'M':
		return r.metadata(&e, name)
	case slices.Contains(flowPhases, ev.Phase):
		e.Name = quote(r.known(name, flowName, "flow"))
	case e.Name != nil:
		e.Name = quote(r.name(what, name))
	}
	for k, v := range e.Args {
		if !r.keepsArg(what, k, v) {
			delete(e.Args, k)
		}
	}
	if k, ok := e.Args[launchedKernel]; ok {
		var kernel string
		if json.Unmarshal(k, &kernel) != nil {
			delete(e.Args, launchedKernel)
		} else {
			e.Args[launchedKernel] = quote(r.name(event.Kernel, kernel))
		}
	}
	return marshal(e)
}

// fields redacts the fields other than name and args; false if it cannot.
func (r *redactor) fields(e *rawEvent) bool {
	for _, n := range []json.RawMessage{e.TS, e.Dur} {
		if n != nil && !number().Match(n) {
			return false
		}
	}
	for _, f := range []struct {
		raw   *json.RawMessage
		known expression
		sort  string
	}{{&e.PID, processID, "process"}, {&e.TID, threadID, "thread"}, {&e.ID, flowID, "id"},
		{&e.Cat, category, "category"}, {&e.Ph, shortWord, "x"}, {&e.BP, shortWord, "x"}, {&e.S, shortWord, "x"}} {
		if *f.raw == nil || number().Match(*f.raw) {
			continue
		}
		var text string
		if json.Unmarshal(*f.raw, &text) != nil {
			return false
		}
		*f.raw = quote(r.known(text, f.known, f.sort))
	}
	return true
}

// known returns a text that is on its list, and the replacement of another.
func (r *redactor) known(text string, list expression, sort string) string {
	if list().MatchString(text) {
		return text
	}
	return r.hide(sort, text)
}

// metadata keeps what says where a track is.
func (r *redactor) metadata(e *rawEvent, name string) []byte {
	if !metadataName().MatchString(name) {
		return nil
	}
	for k, v := range e.Args {
		var text string
		switch {
		case k == kind.SortIndex && number().Match(v):
		case json.Unmarshal(v, &text) != nil || k != kind.KeyName && k != kind.Labels:
			delete(e.Args, k)
		case r.what.Names && !trackName().MatchString(text):
			e.Args[k] = quote(strings.TrimSuffix(name, "_name"))
		}
	}
	return marshal(*e)
}

// name hides the name of an event as its kind asks.
func (r *redactor) name(kind event.Kind, name string) string {
	public := true
	sort := "event"
	switch {
	case kind == event.Frame || kind == event.Module:
		return r.frame(name)
	case kind.Lane() == event.LaneGPU:
		public, sort = r.knownKernel(name) || copyName().MatchString(name), "kernel"
	case kind.Lane() == event.LaneLaunch, kind.Lane() == event.LaneSync:
		public, sort = apiName().MatchString(name), "call"
	case kind == event.Op:
		public, sort = opName().MatchString(name), "op"
	case kind.Lane() == event.LaneAnnotation, kind == event.GPUAnnotation:
		sort = "annotation"
		if step, ok := layer.ParseStep(name); ok {
			return r.step(name, step)
		}
		public = opName().MatchString(name)
	default:
		public = windowMark().MatchString(name)
	}
	if public || !r.what.Names {
		return name
	}
	return r.hide(sort, name)
}

// step leaves of a step annotation what its framework writes: numbers, marks and
// known words. Where that says something else, nothing of it stays.
func (r *redactor) step(name string, want layer.Step) string {
	if !r.what.Names {
		return name
	}
	clean := stepWord().ReplaceAllStringFunc(name, func(w string) string {
		if stepWords[w] {
			return w
		}
		return ""
	})
	if strings.ContainsFunc(clean, func(c rune) bool { return c > '~' }) {
		return r.hide("annotation", name)
	}
	if got, ok := layer.ParseStep(clean); ok && sameStep(got, want) {
		return clean
	}
	return r.hide("annotation", name)
}

// sameStep reports whether two annotations say the same of a step.
func sameStep(a, b layer.Step) bool {
	return a.Dialect == b.Dialect && a.Index == b.Index && a.Stage == b.Stage && a.Batch == b.Batch &&
		a.Tokens == b.Tokens && a.ContextRequests == b.ContextRequests &&
		a.ContextTokens == b.ContextTokens && a.GenerationRequests == b.GenerationRequests &&
		a.GenerationTokens == b.GenerationTokens
}

// knownKernel reports whether a rule of package classify knows the name.
func (r *redactor) knownKernel(name string) bool {
	known, seen := r.kernels[name]
	if !seen {
		f := classify.Default().Facts(name)
		known = f.Rule != "" && f.Category != classify.CategoryOther
		r.kernels[name] = known
	}
	return known
}

// keepsArg reports whether an arg is known and its value harmless.
func (r *redactor) keepsArg(kind event.Kind, key string, v json.RawMessage) bool {
	if slices.Contains(shapeArgs, key) {
		return !r.what.Shapes && kind == event.Op
	}
	if key == launchedKernel {
		return kind.Lane() == event.LaneLaunch // and is renamed as kernels are
	}
	if list, ok := textArgs[key]; ok {
		var text string
		return json.Unmarshal(v, &text) == nil && list().MatchString(text)
	}
	return numberArgs[key] && numbers().Match(v)
}

// frame hides parts of a Python frame's name.
func (r *redactor) frame(name string) string {
	if m := moduleName().FindStringSubmatch(name); m != nil {
		if !r.what.Names || m[1] == "" {
			return name
		}
		return "nn.Module: " + r.hide("Module", m[1]) + m[2]
	}
	m := frameName().FindStringSubmatch(name)
	if m == nil {
		if !r.what.Names || builtin().MatchString(name) {
			return name
		}
		if strings.HasPrefix(name, "<built-in") {
			return "<built-in " + r.hide("function", name) + ">"
		}
		return r.hide("function", name)
	}
	path, line, fn := m[1], m[2], m[3]
	root, public := publicPart(path)
	common := false // the file is one that every model runs
	if r.what.ModelFiles && public != "" {
		public, common = r.modelFile(root, public)
	}
	switch {
	case public != "" && (r.what.Paths || r.what.ModelFiles && !common):
		path = public
	case public == "" && r.what.Paths:
		path = r.hide("file", path) + ".py"
	}
	if r.what.Names && public == "" || r.what.ModelFiles && !functionName().MatchString(fn) {
		fn = r.hide("function", fn)
	}
	return path + "(" + line + "): " + fn
}

// publicPart returns the part of a path from the root of a public package on,
// and that root; "" where there is none.
func publicPart(path string) (root, public string) {
	for _, known := range publicRoots {
		if i := strings.LastIndex(path, known); i >= 0 && (i == 0 || path[i-1] == '/') && len(path)-i > len(public) {
			root, public = known, path[i:]
		}
	}
	return root, public
}

// modelFile hides the folders and the name of a file of a public package that
// are not those which every model runs; common says that nothing was hidden.
func (r *redactor) modelFile(root, public string) (path string, common bool) {
	common = true
	parts := strings.Split(strings.TrimPrefix(public, root), "/")
	for i, p := range parts {
		if commonFiles[strings.TrimSuffix(p, ".py")] {
			continue
		}
		common = false
		if parts[i] = r.hide("folder", p); i == len(parts)-1 {
			parts[i] = r.hide("file", p) + ".py"
		}
	}
	return root + strings.Join(parts, "/"), common
}

func quote(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`""`) // strings always marshal
	}
	return b
}
