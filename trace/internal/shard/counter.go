package shard

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

// counter stores the series of an event of phase C, each as one sample. The
// recorders give GPUs a process each, "GPU 0 Counters", and counters one series
// without a name.
func (s *Shard) counter(ev *scan.Event) {
	if !s.Worker.cfg.Wants[kind.Counter] || !ev.Has.Any(scan.HasArgs) {
		return
	}
	if !ev.Has.Any(scan.HasName) {
		ev.Name = nil
	}
	name := s.Worker.names.Key(s.name(ev.Name))
	if !scan.IsPlain(ev.Name) {
		name = text(ev.Name)
	}
	d := Plain{Kind: kind.Counter, Name: name, Start: ev.TS, Device: None, Stream: None}
	if ev.Has.Any(scan.HasPID) {
		d.Device = counterDevice(ev.PID.Text)
		d.Scope = string(rankLabel(ev.PID.Text))
	}
	var series map[string]json.Number
	if !ev.Has.Any(scan.HasTS) || json.Unmarshal(ev.Args, &series) != nil {
		if d.Device != None { // other programs count things that are no numbers
			s.lose(event.BadEvent, ev.Offset)
		}
		return
	}
	for _, key := range slices.Sorted(maps.Keys(series)) {
		v, err := series[key].Float64()
		if err != nil {
			s.lose(event.BadEvent, ev.Offset)
			continue
		}
		if d.Value, d.Name = v, name; key != "" && key != name {
			d.Name = fmt.Sprintf("%s %s", name, key)
		}
		s.Samples = append(s.Samples, d)
	}
}

// counterDevice reads the GPU of a counter from the name of its process.
func counterDevice(process []byte) int32 {
	process = bytes.TrimSpace(process[len(rankLabel(process)):])
	if rest, ok := bytes.CutPrefix(process, []byte("GPU ")); ok {
		digits, _, _ := bytes.Cut(rest, []byte(" "))
		if n, err := strconv.ParseInt(string(digits), 10, 32); err == nil {
			return Device(n)
		}
	}
	return None
}
