package activity

import (
	"strings"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// Origin is how an activity's site was found.
type Origin int8

const (
	fromNothing   Origin = iota
	FromOp               // frames around the cpu op that External id names
	FromLaunch           // frames around the launch call
	FromMapping          // the site of the same kernel elsewhere
	FromAlignment        // the site of the kernel in the same place of the layer
	FromReplay           // no site: that kernel is replayed from a graph, too
)

// OriginNames are the words for origins in documents.
var OriginNames = [...]string{"", "op", "launch", "mapping", "alignment", "replay"}

// Sites finds the source lines of one trace's activities.
type Sites struct {
	Pool   *Pool // holds the texts
	Trace  *trace.Trace
	layers *layer.Analysis // of the trace
	siteOf []int32         // per name: pool site + 1, 0 not asked yet
	hip    bool
	cuda   bool
	last   foundSite
	stacks map[string]int32 // call stacks of ops: pool site
}

// foundSite is what of answered: the kernels of a replay all have one launch.
type foundSite struct {
	launch   trace.Event
	external uint64
	replay   bool
	site, op int32
	from     Origin
}

// NewSites returns the finder of a trace; it remembers what it found and is for one goroutine.
func NewSites(p *Pool, an *layer.Analysis) *Sites {
	t := an.Trace()
	return &Sites{Pool: p, Trace: t, layers: an, siteOf: make([]int32, t.NumNames()), stacks: map[string]int32{}}
}

// probeDelay is how far inside an op its frames are looked for: far enough to
// be within a frame that opens with the op, and never beyond the op's middle.
const probeDelay = 1000 // ns

// Of returns the site of an activity, its cpu op and how the site was found.
func (f *Sites) Of(act trace.Event) (site, op int32, from Origin) {
	return f.of(act, act.Launch(), act.IsReplay())
}

// of is Of of an activity whose launch is known.
func (f *Sites) of(act, launch trace.Event, replay bool) (site, op int32, from Origin) {
	external := act.ExternalID()
	if l := &f.last; launch.Valid() && l.launch == launch && l.external == external && l.replay == replay {
		return l.site, l.op, l.from
	}
	site, op, from = f.find(launch, external, replay)
	f.last = foundSite{launch, external, replay, site, op, from}
	return site, op, from
}

// find is Of without its memory of the last answer.
func (f *Sites) find(launch trace.Event, external uint64, replay bool) (site, op int32, from Origin) {
	e := f.Trace.OpByExternalID(external)
	var found trace.NameID
	if e.Valid() {
		op = f.Pool.Ops.ID(e.Name())
		found, from = f.layers.SourceFrame(f.frameInOp(e), replay), FromOp
	}
	if launch.Valid() {
		if op == 0 {
			o := launch.Op()
			if !o.Valid() {
				o = launch
			}
			op = f.Pool.Ops.ID(o.Name())
		}
		f.see(launch)
		if found == 0 {
			found, from = f.layers.SourceFrame(launch.Frame(), replay), FromLaunch
		}
	}
	if found != 0 {
		return f.site(found), op, from
	}
	if s := f.CallStack(external, launch); s != "" {
		if site = f.siteOfStack(s); site != SiteUnresolved {
			return site, op, FromOp
		}
	}
	return SiteUnresolved, op, fromNothing
}

// see notes which API a launch is of.
func (f *Sites) see(launch trace.Event) {
	if !f.hip && !f.cuda {
		f.hip = strings.HasPrefix(launch.Name(), "hip")
		f.cuda = strings.HasPrefix(launch.Name(), "cu")
	}
}

// CallStack returns the stack that older profilers write into ops: that of an activity's op or of one around
// it.
func (f *Sites) CallStack(external uint64, launch trace.Event) string {
	e := f.Trace.OpByExternalID(external)
	if !e.Valid() && launch.Valid() {
		e = launch.Op()
	}
	for op := range e.Enclosing() {
		if s := op.Data().CallStack; s != "" {
			return s
		}
	}
	return ""
}

// siteOfStack returns the site of the best frame of a call stack, the innermost among equals.
func (f *Sites) siteOfStack(stack string) int32 {
	if id, ok := f.stacks[stack]; ok {
		return id
	}
	best, id := framework.RankNoise, SiteUnresolved
	for name := range strings.SplitSeq(stack, ";") {
		if fr, ok := framework.ParseFrame(name); ok && fr.Rank(false) > best {
			best, id = fr.Rank(false), f.Pool.Sites.ID(fr.Location())
		}
	}
	f.stacks[stack] = id
	return id
}

// Innermost returns the frame from which an activity's site was found.
func (f *Sites) Innermost(act trace.Event, from Origin) trace.Event {
	if from == FromOp {
		if e := f.Trace.OpByExternalID(act.ExternalID()); e.Valid() {
			return f.frameInOp(e)
		}
	}
	return act.Launch().Frame()
}

// frameInOp returns the innermost frame around an op, seen from just inside it.
func (f *Sites) frameInOp(op trace.Event) trace.Event {
	return f.Trace.Innermost(event.LanePython, op.Thread(),
		op.Start()+trace.Time(min(int64(op.Duration())/2, probeDelay)))
}

// site is the number of a frame's location.
func (f *Sites) site(frame trace.NameID) int32 {
	c := &f.siteOf[frame]
	if *c == 0 {
		fr, _ := framework.ParseFrame(f.Trace.Name(frame))
		*c = f.Pool.Sites.ID(fr.Location()) + 1
	}
	return *c - 1
}
