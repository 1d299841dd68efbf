package layer

import (
	"strings"
	"sync"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// ModelLine says which line of the model a kernel comes from.
type ModelLine struct {
	// Line is "path:line func" of the innermost frame in a file that defines models, else in one that defines their building
	// blocks, with the path from its package's root; "" where no such frame is on the stack, as in compiled code, whose generated
	// files are no source. The operator and Module stand for it there.
	Line string
	// Module are the nn.Module frames around the launch, outermost first, joined by "/"; "" where none are recorded.
	Module string
	// From is the stage of the pass that Line was taken from where that is not the kernel's own: a decode that only a prefill's
	// launches explain. Line is "" then if it is the prefill's alone, in a function that the server has once for each stage.
	From Stage
	// How and Confidence are those of the kernel's [Twin].
	How        string
	Confidence float64
}

// String renders the line with what it was taken from: "… (from prefill)", or "from prefill" alone.
func (m ModelLine) String() string {
	switch {
	case m.From == "":
		return m.Line
	case m.Line == "":
		return "from " + string(m.From)
	}
	return m.Line + " (from " + string(m.From) + ")"
}

// ModelLine returns which line of the model the kernel comes from, its own launch's or its twin's.
func (k Kernel) ModelLine() ModelLine {
	tw := k.Twin()
	if !tw.Launch.Valid() {
		return ModelLine{}
	}
	at := k.d.analysisOf(tw).lines.of(tw.Launch)
	m := ModelLine{Line: at.line, Module: at.module, How: tw.How, Confidence: tw.Confidence}
	if tw.How == howLaunch || k.Place().Pass == trace.None || k.d.Passes[k.Place().Pass].Stage != StageDecode {
		return m
	}
	stage := at.stage
	if s := k.d.stageOf(tw); s != StageUnknown {
		stage = s
	}
	if stage == StagePrefill {
		if m.From = stage; framework.StageOfFunction(at.fn) == framework.Prefill {
			m.Line = ""
		}
	}
	return m
}

// analysisOf is the analysis of the trace that a twin is of: the mapping's, or the device's own.
func (a *Device) analysisOf(tw Twin) *Analysis {
	if m := a.of.opts.Mapping; m != nil && m.trace.At(tw.Launch.ID()) == tw.Launch {
		return m
	}
	return a.of
}

// stageOf is the stage of the pass in which a twin's kernel ran, in the mapping trace or in the device's own.
func (a *Device) stageOf(tw Twin) Stage {
	if !tw.Kernel.Valid() || tw.How == howLaunch {
		return StageUnknown
	}
	k := a.analysisOf(tw).Of(tw.Kernel.ID())
	if !k.Valid() || k.Event() != tw.Kernel {
		return StageUnknown
	}
	if p := k.Place().Pass; p != trace.None {
		return k.d.Passes[p].Stage
	}
	return StageUnknown
}

// launchLine is what the frames around a launch say.
type launchLine struct {
	line, fn, module string
	stage            Stage // that the functions name; StageUnknown where none does
}

// modelLines finds the model lines of one trace's launches. Each frame is looked at once, and each name: traces have few names,
// and thousands of launches below the same frames. Safe for concurrent use.
type modelLines struct {
	frameworks []framework.Framework
	t          *trace.Trace
	sync.Mutex
	names   map[trace.NameID]modelFrame
	frames  map[int32]frameSays // by index in the lane of frames
	modules map[int32]string    // paths by their innermost frame
	path    []trace.Event       // room for says
}

// modelFrame is what the name of a frame says.
type modelFrame struct {
	kind     int
	line, fn string
	stage    Stage
	module   bool
}

// frameSays is what a frame and those around it say: of each the innermost that does, −1 none.
type frameSays struct{ line, stage, module int32 }

var saysNothing = frameSays{-1, -1, -1}

// of returns the line of a launch.
func (l *modelLines) of(launch trace.Event) launchLine {
	l.Lock()
	defer l.Unlock()
	if l.names == nil {
		l.names, l.frames, l.modules = map[trace.NameID]modelFrame{}, map[int32]frameSays{}, map[int32]string{}
	}
	says := l.says(launch.Frame())
	out := launchLine{stage: StageUnknown}
	at := func(i int32) modelFrame { return l.frame(l.t.LaneAt(event.LanePython, int(i))) }
	if says.line >= 0 {
		f := at(says.line)
		out.line, out.fn = f.line, f.fn
	}
	if says.stage >= 0 {
		out.stage = at(says.stage).stage
	}
	if says.module >= 0 {
		path, ok := l.modules[says.module]
		if !ok {
			path = ModulePath(launch)
			l.modules[says.module] = path
		}
		out.module = path
	}
	return out
}

// says goes out to the next frame that is known, and comes back noting what each says.
func (l *modelLines) says(e trace.Event) frameSays {
	path := l.path[:0]
	known := saysNothing
	for f := range e.Enclosing() {
		if s, ok := l.frames[int32(f.Index())]; ok {
			known = s
			break
		}
		path = append(path, f)
	}
	for i := len(path) - 1; i >= 0; i-- {
		index, f := int32(path[i].Index()), l.frame(path[i])
		if f.module {
			known.module = index
		}
		if f.stage != StageUnknown {
			known.stage = index
		}
		if f.kind != framework.NoModelFile && (known.line < 0 || f.kind >= l.frame(l.t.LaneAt(event.LanePython, int(known.line))).kind) {
			known.line = index
		}
		l.frames[index] = known
	}
	l.path = path
	return known
}

// frame reads the name of a frame.
func (l *modelLines) frame(e trace.Event) modelFrame {
	m, ok := l.names[e.NameID()]
	if ok {
		return m
	}
	m = modelFrame{stage: StageUnknown, module: e.Kind() == event.Module}
	if f, ok := framework.ParseFrame(e.Name()); ok && !f.Generated() {
		m.stage = Stage(framework.StageOfFunction(f.Func))
		var from int
		if m.kind, from = f.ModelFile(l.frameworks); m.kind != framework.NoModelFile {
			m.line, m.fn = f.Path[from:]+":"+f.Line+" "+f.Func, f.Func
		}
	}
	l.names[e.NameID()] = m
	return m
}

// ModulePath returns the nn.Module frames around a CPU event, outermost first, joined by "/"; "" when there are none. Of more
// than 64 only the innermost are told.
func ModulePath(e trace.Event) string {
	var parts []string
	for f := range e.Frame().Enclosing() {
		if f.Kind() == event.Module {
			parts = append(parts, strings.TrimPrefix(f.Name(), ladder.ModulePrefix))
		}
		if len(parts) == ladder.MaxModules {
			break
		}
	}
	for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
		parts[i], parts[j] = parts[j], parts[i]
	}
	return strings.Join(parts, "/")
}
