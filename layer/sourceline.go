package layer

import (
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/trace"
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
	How        How
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
	m := ModelLine{Module: ModulePath(tw.Launch), How: tw.How, Confidence: tw.Confidence}
	line, fn, stage := modelFrame(tw.Launch)
	if s := k.d.stageOf(tw); s != StageUnknown {
		stage = s
	}
	m.Line = line
	own := StageUnknown
	if p := k.Place().Pass; p != None {
		own = k.d.Passes[p].Stage
	}
	if tw.How != HowLaunch && own == StageDecode && stage == StagePrefill {
		if m.From = stage; framework.StageOfFunction(fn) == framework.Prefill {
			m.Line = ""
		}
	}
	return m
}

// stageOf is the stage of the pass in which a twin's kernel ran, in the mapping trace or in the device's own.
func (a *Device) stageOf(tw Twin) Stage {
	if !tw.Kernel.Valid() || tw.How == HowLaunch {
		return StageUnknown
	}
	from := a.of
	if m := a.of.opts.Mapping; m != nil {
		from = m
	}
	k := from.Of(tw.Kernel.ID())
	if !k.Valid() || k.Event() != tw.Kernel {
		return StageUnknown
	}
	if p := k.Place().Pass; p != None {
		return k.d.Passes[p].Stage
	}
	return StageUnknown
}

// modelFrame returns the model line of a launch, its function, and the stage that the functions around it name.
func modelFrame(launch trace.Event) (line, fn string, stage Stage) {
	stage = StageUnknown
	found := framework.NoModelFile
	for e := range launch.Stack() {
		f, ok := framework.ParseFrame(e.Name())
		if !ok || f.Generated() {
			continue
		}
		if s := Stage(framework.StageOfFunction(f.Func)); stage == StageUnknown {
			stage = s
		}
		if kind, from := f.ModelFile(frameworks); kind > found {
			found = kind
			line, fn = f.Path[from:]+":"+f.Line+" "+f.Func, f.Func
		}
	}
	return line, fn, stage
}
