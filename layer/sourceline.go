package layer

import (
	"slices"
	"strings"
	"sync"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// ModelLine says which line of the model a kernel comes from.
type ModelLine struct {
	// Line is "path:line func" of the innermost frame in a file that defines models, else in one that defines their
	// building blocks, with the path from its package's root; "" where no such frame is on the stack, as in compiled
	// code, whose generated files are no source. The operator and Module replace it there.
	Line string
	// Module are the nn.Module frames around the launch, outermost first, joined by "/"; "" where none are recorded.
	Module string
	// From is the stage of the pass that Line was taken from where that is not the kernel's own: a decode that only a
	// prefill's launches explain. Line is "" then if it is the prefill's alone, in a function that the server has
	// once for each stage.
	From Stage
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
	at := k.d.analysisOf(tw).lines.of(tw.Launch.Frame())
	m := ModelLine{Line: at.line, Module: at.module}
	if tw.How == HowLaunch || k.Place().Pass == trace.None || k.d.Passes[k.Place().Pass].Stage != StageDecode {
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
	if !tw.Kernel.Valid() || tw.How == HowLaunch {
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

// SourceFrame returns the name of the frame that says most about where work comes from, of a Python frame and those
// around it: code of servers over models' over libraries', the innermost among equals; 0 where none has a source line.
func (a *Analysis) SourceFrame(innermost trace.Event, replay bool) trace.NameID {
	says := a.lines.of(innermost)
	if replay {
		return says.replayed.name
	}
	return says.launched.name
}

// frameLine is what some frames say, of each thing the innermost that does.
type frameLine struct {
	kind               int // of the file that line is of
	line, fn, module   string
	stage              Stage // that the functions name; StageUnknown where none does
	launched, replayed rankedName
}

// rankedName is the frame that says most about where work comes from.
type rankedName struct {
	name trace.NameID
	rank framework.Rank
}

// inside is the frame or one inside of it.
func (f rankedName) inside(name trace.NameID, r framework.Rank) rankedName {
	if r > framework.RankNoise && r >= f.rank {
		return rankedName{name, r}
	}
	return f
}

// modelLines finds what the frames of one trace say. Each name is looked at once below the same others: traces
// have few names, and thousands of launches below the same frames. Safe for concurrent use.
type modelLines struct {
	frameworks []framework.Framework
	names      int // of the trace
	sync.Mutex
	lines  []frameLine // the distinct ones; [0] is of no frames
	ids    map[frameLine]int32
	steps  map[frameStep]int32 // what frames say, as those around them and their own names do
	last   []lastStep          // by name
	frames outward[int32]
}

// frameStep is a frame inside of others, by what these say.
type frameStep struct {
	around int32
	name   trace.NameID
}

// lastStep is the last step of frames of a name: most calls of a function come from one line.
type lastStep struct{ around, says int32 }

// of returns what a frame and those around it say.
func (l *modelLines) of(innermost trace.Event) frameLine {
	if l == nil { // of the zero Analysis
		return frameLine{stage: StageUnknown}
	}
	l.Lock()
	defer l.Unlock()
	if l.lines == nil {
		l.lines, l.ids, l.steps = []frameLine{{stage: StageUnknown}}, map[frameLine]int32{}, map[frameStep]int32{}
		l.last = slices.Repeat([]lastStep{{around: -1}}, l.names)
	}
	return l.lines[l.frames.of(innermost, l.step)]
}

// step is the number of what a frame says inside of others.
func (l *modelLines) step(around int32, f trace.Event) int32 {
	step := frameStep{around, f.NameID()}
	last := &l.last[step.name]
	if last.around == around {
		return last.says
	}
	line, ok := l.steps[step]
	if !ok {
		line = l.line(l.inside(l.lines[around], f))
		l.steps[step] = line
	}
	*last = lastStep{around, line}
	return line
}

// line is the number of what frames say.
func (l *modelLines) line(says frameLine) int32 {
	id, ok := l.ids[says]
	if !ok {
		id = int32(len(l.lines))
		l.ids[says], l.lines = id, append(l.lines, says)
	}
	return id
}

// inside is what a frame says, and what those around it do where it says nothing.
func (l *modelLines) inside(says frameLine, f trace.Event) frameLine {
	if f.Kind() == event.Module {
		says.module = modulePath(f)
	}
	name, ok := framework.ParseFrame(f.Name())
	if ok && name.Written() {
		says.kind, says.line, says.fn = framework.NoModelFile, "", "" // the line is where the compiled function begins
	}
	if !ok {
		return says
	}
	says.launched = says.launched.inside(f.NameID(), name.Rank(false))
	says.replayed = says.replayed.inside(f.NameID(), name.Rank(true))
	if name.Generated() {
		return says
	}
	if stage := Stage(framework.StageOfFunction(name.Func)); stage != StageUnknown {
		says.stage = stage
	}
	if kind, from := name.ModelFile(l.frameworks); kind != framework.NoModelFile && kind >= says.kind {
		says.kind, says.line, says.fn = kind, name.Path[from:]+":"+name.Line+" "+name.Func, name.Func
	}
	return says
}

// ModulePath returns the nn.Module frames around a CPU event, outermost first, joined by "/"; "" when there are none.
// Of more than 64 only the innermost are returned.
func ModulePath(e trace.Event) string { return modulePath(e.Frame()) }

// modulePath is the path of the innermost frame itself.
func modulePath(innermost trace.Event) string {
	var parts []string
	for f := range innermost.Enclosing() {
		if f.Kind() == event.Module {
			parts = append(parts, strings.TrimPrefix(f.Name(), ladder.ModulePrefix))
		}
		if len(parts) == ladder.MaxModules {
			break
		}
	}
	slices.Reverse(parts)
	return strings.Join(parts, "/")
}
