package activity

import (
	"strings"

	"github.com/llmstrata/strata/internal/outward"
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
	Pool   *Pool                          // holds the texts
	Trace  *trace.Trace                   // that is asked
	ranks  []int8                         // per name: rank + 1, 0 not asked yet
	siteOf []int32                        // per name: pool site + 1, 0 not asked yet
	best   [2]outward.Memory[trace.Event] // the best frames, of launches and of replays
	ops    []int32                        // per name: pool op + 1
	bare   bool                           // no frames and no ops: launches are all that is known
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
func NewSites(p *Pool, t *trace.Trace) *Sites {
	n := t.NumNames()
	return &Sites{Pool: p, Trace: t, ranks: make([]int8, n), siteOf: make([]int32, n), ops: make([]int32, n),
		bare: t.Len(event.LanePython, event.LaneOp) == 0}
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
	if f.bare {
		if launch.Valid() {
			f.see(launch)
			op = f.op(launch)
		}
		return SiteUnresolved, op, fromNothing
	}
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
	found := trace.Event{}
	if e.Valid() {
		op = f.op(e)
		found, from = f.bestFrame(f.frameInOp(e), replay), FromOp
	}
	if launch.Valid() {
		if op == 0 {
			if o := launch.Op(); o.Valid() {
				op = f.op(o)
			} else {
				op = f.op(launch)
			}
		}
		f.see(launch)
		if !found.Valid() {
			found, from = f.bestFrame(f.Trace.Innermost(event.LanePython, launch.Thread(), launch.Start()), replay),
				FromLaunch
		}
	}
	if found.Valid() {
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
	if f.stacks == nil {
		f.stacks = map[string]int32{}
	}
	best, id := Noise, SiteUnresolved
	for name := range strings.SplitSeq(stack, ";") {
		if fr, ok := ParseFrame(name); ok && fr.Rank() > best {
			best, id = fr.Rank(), f.Pool.Sites.ID(fr.Location())
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
	if l := act.Launch(); l.Valid() {
		return f.Trace.Innermost(event.LanePython, l.Thread(), l.Start())
	}
	return trace.Event{}
}

// frameInOp returns the innermost frame around an op, seen from just inside it.
func (f *Sites) frameInOp(op trace.Event) trace.Event {
	return f.Trace.Innermost(event.LanePython, op.Thread(),
		op.Start()+trace.Time(min(int64(op.Duration())/2, probeDelay)))
}

func (f *Sites) op(e trace.Event) int32 {
	c := &f.ops[e.NameID()]
	if *c == 0 {
		*c = f.Pool.Ops.ID(e.Name()) + 1
	}
	return *c - 1
}

func (f *Sites) site(e trace.Event) int32 {
	c := &f.siteOf[e.NameID()]
	if *c == 0 {
		fr, _ := ParseFrame(e.Name())
		*c = f.Pool.Sites.ID(fr.Location()) + 1
	}
	return *c - 1
}

// Rank is how specific a frame is, see [Rank].
func (f *Sites) Rank(e trace.Event) Rank {
	c := &f.ranks[e.NameID()]
	if *c == 0 {
		r := NoFrame
		if fr, ok := ParseFrame(e.Name()); ok {
			r = fr.Rank()
		}
		*c = int8(r) + 1
	}
	return Rank(*c - 1)
}

// bestFrame returns the frame with the best rank among e and what is around
// it, the deepest among equals; not valid where none has a source line.
//
// A graph runner says nothing about what it replays. What it launches itself,
// such as the copies of a step's inputs, comes from nowhere else.
func (f *Sites) bestFrame(e trace.Event, replay bool) trace.Event {
	memory, runner := &f.best[0], Framework
	if replay {
		memory, runner = &f.best[1], NoSignal
	}
	rank := func(e trace.Event) Rank {
		if r := f.Rank(e); r != Runner {
			return r
		}
		return runner
	}
	return memory.Of(e, func(best, e trace.Event) trace.Event {
		if r := rank(e); r > Noise && (!best.Valid() || r >= rank(best)) {
			return e
		}
		return best
	})
}
