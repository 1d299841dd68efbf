package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/llmstrata/strata/internal/kind"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace/event"
)

// metadata keeps process and thread names.
func (s *shard) metadata(ev *scan.Event) {
	if !ev.Has.Any(scan.HasName) || !ev.Has.Any(scan.HasArgs) || !ev.Has.Any(scan.HasPID) {
		return
	}
	process := string(ev.Name) == kind.ProcessName
	if !process && string(ev.Name) != kind.ThreadName {
		return
	}
	var args struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(ev.Args, &args) != nil {
		return
	}
	l := rowName{process: process, text: args.Name, thread: threadKey{proc: processOf(ev.PID)}}
	if !process {
		if !ev.Has.Any(scan.HasTID) {
			return
		}
		l.thread = threadOf(ev.PID, ev.TID)
	}
	s.labels = append(s.labels, l)
}

// nameOf returns the name of an event. The worker numbers it like any other, so that
// it is kept once however often it comes.
func (s *shard) nameOf(ev *scan.Event) string {
	if !ev.Has.Any(scan.HasName) {
		ev.Name = nil
	}
	if id := s.name(ev.Name); scan.IsPlain(ev.Name) {
		return s.worker.names.Key(id)
	}
	return textOf(ev.Name)
}

// half keeps one half of a B/E pair for the sink, which sees both.
func (s *shard) half(ev *scan.Event, cat *category) {
	if !ev.Has.Any(scan.HasTS) {
		s.losses.add(event.BadTime, ev.Offset)
		return
	}
	name := s.nameOf(ev)
	if !ev.Has.Any(scan.HasPID) {
		ev.PID = scan.Ident{}
	}
	if !ev.Has.Any(scan.HasTID) {
		ev.TID = scan.Ident{}
	}
	d := EventData{Kind: event.Kind(kind.Of(cat.text, name)), Category: cat.text, Name: name, Start: ev.TS,
		Process: ev.PID.Num, ProcessLabel: textOf(ev.PID.Text), Thread: ev.TID.Num, Label: textOf(ev.TID.Text),
		Scope: string(rankLabel(ev.PID.Text)), Device: None, Stream: None}
	if ev.Has.Any(scan.HasDevice) {
		d.Device = deviceOf(ev.Device)
	}
	if ev.Has.Any(scan.HasStream) {
		d.Stream = StreamID(ev.Stream)
	}
	if ev.Has.Any(scan.HasCorrelation) {
		d.Correlation = uint64(ev.Correlation)
	}
	if ev.Has.Any(scan.HasExternalID) {
		d.ExternalID = uint64(ev.ExternalID)
	}
	if s.worker.cfg.args[d.Kind] && ev.Has.Any(scan.HasArgs) {
		d.Args = bytes.Clone(ev.Args)
	}
	s.pairs = append(s.pairs, half{ev.Phase == 'B', ev.Offset, d})
}

// counter stores the series of an event of phase C, each as one sample. The
// recorders give GPUs a process each, "GPU 0 Counters", and counters one series
// without a name.
func (s *shard) counter(ev *scan.Event) {
	if !s.worker.cfg.wants[event.Counter] || !ev.Has.Any(scan.HasArgs) {
		return
	}
	name := s.nameOf(ev)
	d := EventData{Kind: event.Counter, Name: name, Start: ev.TS, Device: None, Stream: None}
	if ev.Has.Any(scan.HasPID) {
		d.Device = counterDevice(ev.PID.Text)
		d.Scope = string(rankLabel(ev.PID.Text))
	}
	var series map[string]json.Number
	if !ev.Has.Any(scan.HasTS) || json.Unmarshal(ev.Args, &series) != nil {
		if d.Device != None { // other programs count things that are no numbers
			s.losses.add(event.BadEvent, ev.Offset)
		}
		return
	}
	for _, key := range slices.Sorted(maps.Keys(series)) {
		v, err := series[key].Float64()
		if err != nil {
			s.losses.add(event.BadEvent, ev.Offset)
			continue
		}
		if d.Value, d.Name = v, name; key != "" && key != name {
			d.Name = fmt.Sprintf("%s %s", name, key)
		}
		s.samples = append(s.samples, d)
	}
}

// counterDevice reads the GPU of a counter from the name of its process.
func counterDevice(process []byte) DeviceID {
	process = bytes.TrimSpace(process[len(rankLabel(process)):])
	if rest, ok := bytes.CutPrefix(process, []byte("GPU ")); ok {
		digits, _, _ := bytes.Cut(rest, []byte(" "))
		if n, err := strconv.ParseInt(string(digits), 10, 32); err == nil {
			return deviceOf(n)
		}
	}
	return None
}

// flow keeps one end of a flow from a launch to its activity. Writers put it
// after its event; where that has a correlation, the flow repeats it.
func (s *shard) flow(ev *scan.Event) {
	if s.correlated || !ev.Has.Any(scan.HasID) || !ev.Has.Any(scan.HasCat) || !ev.Has.Any(scan.HasTS) ||
		ev.ID.Text != nil || ev.PID.Text != nil || ev.TID.Text != nil {
		return
	}
	if cat := string(ev.Cat); cat != kind.FlowCategory && cat != kind.AltFlowCategory {
		return
	}
	s.flows = append(s.flows, flow{uint64(ev.ID.Num), ev.TS, ev.PID.Num, ev.TID.Num, ev.Phase == 'f'})
}
