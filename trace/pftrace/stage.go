package pftrace

import (
	"math"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/wire"
	"github.com/llmstrata/strata/trace"
)

// renderStage reads a gpu_render_stage_event: a whole GPU activity.
func (x *parser) renderStage(s *interned, ts int64, m []byte) bool {
	e := slice{kept: kept{start: ts, device: int64(trace.None), stream: int64(trace.None), has: onGPU}}
	var duration, queue, stage, event uint64
	good, extra := true, false
	for len(m) > 0 && good {
		f, num, body, rest := wire.Next(m)
		switch m = rest; f {
		case 0:
			good = false
		case stageEventID:
			event = num
		case stageDuration:
			duration = num
		case stageDevice:
			e.device = int64(num)
		case stageQueueID:
			queue = num
		case stageID:
			stage = num
		case stageNameID:
			e.name = s.names.get(num)
		case stageKernelID:
			if e.name == 0 {
				e.name = s.kernels.get(num)
			}
		case stageLaunch:
			good = e.launch(body)
		case stageExtra:
			good, extra = e.extra(body), true
		}
	}
	if !good || duration > math.MaxInt64 {
		return false
	}
	e.end = ts + int64(duration)
	if !extra { // else the event's number is one of its own
		e.correlation = event
	}
	if e.stream == int64(trace.None) {
		e.stream = queueStream(s.stages[queue])
	}
	e.has |= hasDevice | hasStream
	x.kindOfStage(&e, s.stages[stage])
	x.shape(&e)
	*x.op() = op{what: opStage, ts: ts, slot: -1}
	x.cur.events = append(x.cur.events, e.kept)
	return true
}

// kindOfStage sets what the name of a stage says of an activity: its kind, and a
// name where it has none of its own.
func (x *parser) kindOfStage(e *slice, name string) {
	if name == "" {
		return
	}
	switch stage := slices.Index(stageNames, name) + 1; stage {
	case stageKernel:
		e.has |= isKernel
	case stageMemcpy, stageMemset:
		if e.has |= isCopy; stage == stageMemset {
			e.has ^= isCopy | isSet
		}
		if e.name == 0 {
			e.name = x.text([]byte(name))
		}
	case stageAnnotation:
		e.has |= isAnnotation
	case stageGraph:
		e.has |= isGraph
	default: // a host's function, the recording of an event: parts of a graph, no work
		e.has |= isOther
		if e.name == 0 {
			e.name = x.text([]byte(name))
		}
	}
}

// queueStream reads a stream from the name of its queue: "stream 7" or "[07] stream 7"; where streams have names,
// "[07] side comms".
func queueStream(name string) int64 {
	if id, rest, ok := strings.Cut(strings.TrimPrefix(name, "["), "]"); ok {
		if !strings.HasPrefix(rest, " stream ") {
			rest = id
		}
		name = strings.TrimSpace(rest)
	}
	if n, ok := number([]byte(strings.TrimPrefix(name, "stream "))); ok {
		return n
	}
	return int64(trace.None)
}

// launch reads a kernel's grid and block.
func (e *slice) launch(m []byte) bool {
	good := true
	for f, v := range wire.Fields(m, &good) {
		if f != launchGrid && f != launchBlock {
			continue
		}
		var dims [3]int64
		well := true // what is not well formed in it is passed over
		for axis, size := range wire.Fields(v.Bytes, &well) {
			if axis >= 1 && axis <= len(dims) {
				dims[axis-1] = int64(size.Num)
			}
		}
		e.setShape(f == launchBlock, dims)
	}
	return good
}

// extra reads one named text of a render stage.
func (e *slice) extra(m []byte) bool {
	var name, text []byte
	good := true
	for f, v := range wire.Fields(m, &good) {
		switch f {
		case 1:
			name = v.Bytes
		case 2:
			text = v.Bytes
		}
	}
	if v, ok := number(text); ok && good {
		e.set(keyOf(name), v)
	}
	return good
}

// noTrack is the track of render stages, which have none.
var noTrack track

// shape numbers an activity's grid and block as text.
func (x *parser) shape(e *slice) {
	if e.has&hasGrid == 0 {
		return
	}
	k := [2][3]int64{e.grid, e.block}
	id, ok := x.shapes[k]
	if !ok {
		id = x.text(e.shapeText())
		if len(x.shapes) < 1<<16 { // a hostile file can make every activity's its own
			x.shapes[k] = id
		}
	}
	e.kept.shape = id
}
