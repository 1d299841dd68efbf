package perfetto

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// Redaction says what [Slice] hides. Kernel names stay: without them a trace
// cannot be analysed. With any of them on, top-level values other than the
// schema, versions, devices and ranks are left out (host, user and job names).
//
// Replacements are numbered in order of appearance, so that equal texts stay
// equal within a file and nothing can be recovered from them.
type Redaction struct {
	// Paths hides folders and private file names in Python frames. Paths inside
	// well-known public packages keep their part from the package's root on.
	Paths bool
	// Names hides function, class, process and annotation names. Layer numbers,
	// the ending that marks a decoder layer or a model, and step annotations
	// stay: passes and layers are found by them.
	Names bool
	// Shapes removes tensor shapes, strides, types and scalar inputs of ops.
	Shapes bool
}

func (r Redaction) any() bool { return r.Paths || r.Names || r.Shapes }

// publicRoots begin the public part of a path: the servers' packages and
// libraries that they run on.
var publicRoots = func() []string {
	servers, kernels := framework.ServerRoots(framework.All())
	return slices.Concat(servers, kernels, []string{"flashinfer/", "transformers/", "torch/", "triton/", "deep_gemm/", "deep_ep/", "aiter/"})
}()

// publicMeta are top-level keys that say nothing about who recorded the trace.
var publicMeta = map[string]bool{
	"schemaVersion": true, "deviceProperties": true, "distributedInfo": true, "displayTimeUnit": true, "baseTimeNanoseconds": true,
	"cuda_runtime_version": true, "cuda_driver_version": true, "cupti_version": true, "hip_runtime_version": true,
	"hip_driver_version": true, "roctracer_version": true, "with_stack": true, "record_shapes": true, "with_flops": true,
	"with_modules": true, "profile_memory": true,
}

// publicArgs are args of CPU events that are numbers made by the profiler.
var publicArgs = map[string]bool{
	"External id": true, "external id": true, "Record function id": true, "Ev Idx": true, "Sequence number": true,
	"Fwd thread id": true, "Python id": true, "Python parent id": true, "Python module id": true, "Op count": true,
}

var shapeArgs = []string{"Input Dims", "Input dims", "Input type", "Input Strides", "Output Dims"}

var (
	frameName = regexp.MustCompile(`^(.*)\((\d+)\): (.*)$`)
	// moduleName keeps what makes a module a layer or a model to the analysis.
	moduleName = regexp.MustCompile(`^nn\.Module: (.*?)((?:DecoderLayer|TransformerBlock|EncoderLayer|Layer|Block|ForCausalLM|ForConditionalGeneration|Model)?(?:_\d+)?)$`)
)

type redactor struct {
	what Redaction
	text map[string]string
	next map[string]int
}

func newRedactor(what Redaction) *redactor {
	if !what.any() {
		return nil
	}
	return &redactor{what, map[string]string{}, map[string]int{}}
}

// hide returns the replacement of text among those of one sort.
func (r *redactor) hide(sort, text string) string {
	k := sort + "\x00" + text
	if s, ok := r.text[k]; ok {
		return s
	}
	r.next[sort]++
	s := sort + strconv.Itoa(r.next[sort])
	r.text[k] = s
	return s
}

func (r *redactor) keepsMeta(key string) bool { return publicMeta[key] }

// rawEvent is an event whose parts are kept as they stand in the file.
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
	kind := trace.KindOf(string(ev.Cat), "")
	switch kind.Lane() {
	case trace.LaneGPU, trace.LaneLaunch, trace.LaneSync:
		if kind != trace.KindOverhead {
			return ev.Raw // names of kernels and API calls, and the profiler's numbers
		}
	}
	if ev.Phase == 's' || ev.Phase == 'f' || ev.Phase == 't' {
		return ev.Raw
	}
	var e rawEvent
	if err := json.Unmarshal(ev.Raw, &e); err != nil {
		return nil
	}
	var name string
	if err := json.Unmarshal(e.Name, &name); err != nil {
		return nil
	}
	if ev.Phase == 'M' {
		if r.what.Names && (name == "process_name" || name == "thread_name") {
			e.Args = map[string]json.RawMessage{"name": quote(strings.TrimSuffix(name, "_name"))}
		}
		return marshal(e)
	}
	switch {
	case kind == trace.KindFrame:
		name = r.frame(name)
	case r.what.Names && kind.Lane() == trace.LaneAnnotation:
		if _, step := layer.ParseStep(name); !step {
			name = r.hide("annotation", name)
		}
	case r.what.Names && kind.Lane() == trace.LaneOther && ev.PID.Text == nil:
		name = r.hide("event", name)
	}
	e.Name = quote(name)
	for k := range e.Args {
		if publicArgs[k] || !r.what.Shapes && slices.Contains(shapeArgs, k) {
			continue
		}
		delete(e.Args, k)
	}
	return marshal(e)
}

// frame hides parts of a Python frame's name.
func (r *redactor) frame(name string) string {
	if m := moduleName.FindStringSubmatch(name); m != nil {
		if !r.what.Names || m[1] == "" {
			return name
		}
		return "nn.Module: " + r.hide("Module", m[1]) + m[2]
	}
	m := frameName.FindStringSubmatch(name)
	if m == nil {
		if r.what.Names && !strings.HasPrefix(name, "<built-in") {
			return r.hide("function", name)
		}
		return name
	}
	path, line, fn := m[1], m[2], m[3]
	public := ""
	for _, root := range publicRoots {
		if i := strings.LastIndex(path, root); i >= 0 && (i == 0 || path[i-1] == '/') && len(path)-i > len(public) {
			public = path[i:]
		}
	}
	if r.what.Paths {
		if public != "" {
			path = public
		} else {
			path = r.hide("file", path) + ".py"
		}
	}
	if r.what.Names && public == "" {
		fn = r.hide("function", fn)
	}
	return path + "(" + line + "): " + fn
}

func quote(s string) json.RawMessage {
	b, err := json.Marshal(s)
	if err != nil {
		return json.RawMessage(`""`) // strings always marshal
	}
	return b
}

func marshal(e rawEvent) []byte {
	b, err := json.Marshal(e)
	if err != nil {
		return nil // a raw part that is not JSON
	}
	return b
}
