package trace_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
)

// suspect is a trace of 100 kernels with a launch call each; change edits one.
func suspect(t *testing.T, change func(i int, ts, dur *float64, correlation *int)) trace.Health {
	t.Helper()
	var events []string
	for i := range 100 {
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%d,"dur":3,"args":{"correlation":%d}}`, 20*i, i+1))
		ts, dur, correlation := float64(20*i+5), 8.0, i+1
		change(i, &ts, &dur, &correlation)
		events = append(events, fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%.3f,"dur":%.3f,"args":{"device":0,"stream":7,"correlation":%d}}`, ts, dur, correlation))
	}
	return read(t, strings.NewReader(document(events...))).Health()
}

// TestSuspects: each rule on both sides of where it decides.
func TestSuspects(t *testing.T) {
	none := func(int, *float64, *float64, *int) {}
	share := func(n int) func(int, *float64, *float64, *int) {
		return func(i int, _, _ *float64, correlation *int) {
			if i <= n {
				*correlation = 1
			}
		}
	}
	long := func(dur float64) func(int, *float64, *float64, *int) {
		return func(_ int, _, d *float64, _ *int) { *d = dur }
	}
	jump := func(far, each float64) func(int, *float64, *float64, *int) {
		return func(i int, ts, _ *float64, _ *int) {
			if *ts += float64(i) * each; i >= 50 {
				*ts += far
			}
		}
	}
	for _, tt := range []struct {
		name   string
		change func(int, *float64, *float64, *int)
		code   string
	}{
		{"as it is", none, ""},
		{"10 of 100 share a launch", share(10), ""},
		{"11 of 100 share a launch", share(11), "shared-launches"},
		{"half overlaps", long(39), ""},                             // 19 of 39 µs
		{"more than half overlaps", long(42), "impossible-overlap"}, // 22 of 42 µs
		{"a pause of less than a second", jump(0.99e6, 0), ""},
		{"a pause of a second, though work was launched", jump(1.01e6, 0), "time-jump"},
		{"in a recording as long", jump(1.01e6, 11e3), ""},
	} {
		h := suspect(t, tt.change)
		var got []string
		for _, f := range h.Findings {
			if f.Code == trace.CodeSharedLaunches || f.Code == trace.CodeImpossibleOverlap ||
				f.Code == trace.CodeTimeJump {
				got = append(got, string(f.Code))
			}
		}
		if strings.Join(got, " ") != tt.code || tt.code != "" && h.Status != trace.HealthDegraded {
			t.Errorf("%s: %q, %v, want %q", tt.name, got, h.Status, tt.code)
		}
	}
}

// TestOnlyCopies: a trace whose GPU activities are copies shows no work of the GPU; with one kernel it does.
func TestOnlyCopies(t *testing.T) {
	for kernel, want := range map[string]trace.HealthStatus{"": trace.HealthDegraded,
		`,{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":9,"dur":2,"args":{"device":0,"stream":7}}`: trace.HealthOK} {
		doc := `{"traceEvents":[{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD","pid":0,"tid":7,"ts":1,"dur":2,"args":{"device":0,"stream":7}}` + kernel + `]}`
		tr, err := trace.Read(t.Context(), strings.NewReader(doc), trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		h := tr.Health()
		told := slices.ContainsFunc(h.Findings, func(f trace.Remark) bool { return f.Code == trace.CodeNoKernels })
		if told != (want == trace.HealthDegraded) {
			t.Errorf("with %q: %v, %+v", kernel, h.Status, h.Findings)
		}
	}
}
