package trace_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

const oneKernelEvent = `{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"device":0,"stream":7}}`

// TestUnknownPhasesAreCounted: events of phases that the format has not; those that it has are no loss.
func TestUnknownPhasesAreCounted(t *testing.T) {
	for phase, want := range map[string]int64{"Q": 2, "?": 2, "P": 0, "N": 0, "v": 0} {
		e := `{"ph":"` + phase + `","name":"x","ts":1,"pid":1,"tid":1},`
		tr, err := trace.Read(t.Context(), strings.NewReader(`{"traceEvents":[`+e+e+oneKernelEvent+`]}`),
			trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got int64
		if i := slices.IndexFunc(tr.Health().Losses,
			func(l trace.Loss) bool { return l.Reason == event.UnknownPhase }); i >= 0 {
			got = tr.Health().Losses[i].Count
		}
		if got != want {
			t.Errorf("phase %s: %d are counted, want %d", phase, got, want)
		}
	}
}

// TestArraysAMillionDeepAreRefused: alone they are no trace; beside events they are skipped and counted.
func TestArraysAMillionDeepAreRefused(t *testing.T) {
	deep := strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000)
	for _, text := range []string{deep, `{"traceEvents":` + deep + `}`, `{"traceEvents":[` + deep + `]}`} {
		if _, err := trace.Read(t.Context(), strings.NewReader(text), trace.Options{}); !errors.Is(err,
			trace.ErrFormat) {
			t.Errorf("%.20s…: %v, want %v", text, err, trace.ErrFormat)
		}
	}
	tr, err := trace.Read(t.Context(), strings.NewReader(`{"traceEvents":[`+oneKernelEvent+`,{"ph":"X","args":`+deep+
		`},`+oneKernelEvent+`]}`), trace.Options{})
	if err != nil || tr.Health().Activities != 2 || tr.Health().Status == trace.HealthOK {
		t.Errorf("beside events: %v", err)
	}
}
