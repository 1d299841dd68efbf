package strata

import (
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/triage"
)

// TestHeadsOfPages: the number of ranks where it is known, the worst health, and the step that needs at least so long.
func TestHeadsOfPages(t *testing.T) {
	for size, want := range map[int]bool{0: false, 1: true} {
		var b strings.Builder
		err := WriteTriageHTML(t.Context(), &b, &triage.Report{Traces: []string{"a/b.json"}, TPSize: size,
			Health: []triage.HealthNote{{Status: trace.HealthUnusable}, {Status: trace.HealthDegraded}}}, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "TP 1"); got != want {
			t.Errorf("triage of %d ranks: TP 1 is there: %t", size, got)
		}
		if !strings.Contains(b.String(), string(trace.HealthUnusable)) || strings.Contains(b.String(),
			string(trace.HealthDegraded)) {
			t.Errorf("not the worst health:\n%s", b.String())
		}
		b.Reset()
		r := &roofline.Report{TP: size, EP: 1, Passes: []roofline.Pass{{Stage: layer.StageDecode, Floor: 1, Covered: 1}}}
		if err := WriteLightHTML(t.Context(), &b, r, nil, "plan"); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(b.String(), "TP 1, EP 1"); got != want {
			t.Errorf("light of %d ranks: TP 1 is there: %t", size, got)
		}
		if want := "A decode step needs at least 1 ns."; !strings.Contains(b.String(), want) {
			t.Errorf("no %q", want)
		}
		r.Passes[0].Wall = 1
		b.Reset()
		if err := WriteLightHTML(t.Context(), &b, r, nil, "run"); err != nil {
			t.Fatal(err)
		}
		if want := "Pass 0 (decode) takes 1 ns; the GPU needs at least 1 ns of it (100.0%)."; !strings.Contains(b.String(),
			want) {
			t.Errorf("no %q", want)
		}
		r.Model, r.Assumed = "known", true
		b.Reset()
		if err := WriteLightHTML(t.Context(), &b, r, nil, "run"); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{"known (assumed)", "of it (100.0%). The model is assumed."} {
			if !strings.Contains(b.String(), want) {
				t.Errorf("no %q", want)
			}
		}
	}
}

// TestLayersInWords: with the confidence of the pass that shows the model's layers best, where that is below a half.
func TestLayersInWords(t *testing.T) {
	pass := func(model, layers int, sure float64) layer.ForwardPass {
		return layer.ForwardPass{Model: model, NumLayers: layers, Confidence: sure}
	}
	for _, c := range []struct {
		passes []layer.ForwardPass
		want   string
	}{
		{nil, "1 layer"}, {[]layer.ForwardPass{pass(0, 1, .49)}, "1 layer (confidence 0.49)"},
		{[]layer.ForwardPass{pass(0, 1, 0)}, "1 layer (confidence 0.00)"},
		{[]layer.ForwardPass{pass(0, 1, .5)}, "1 layer"}, {[]layer.ForwardPass{pass(0, 0, .2), pass(1, 1, .3)}, "1 layer"},
		{[]layer.ForwardPass{pass(0, 1, .3), pass(0, 1, .4), pass(0, 1, .2), pass(1, 1, .9)}, "1 layer (confidence 0.40)"},
	} {
		if got := layersOf(&layer.Device{Passes: c.passes}, 0, 1); got != c.want {
			t.Errorf("%v: %s, want %s", c.passes, got, c.want)
		}
	}
}

// TestLongestKernelOfAnOperator: the first of those that run longest, which may be no time.
func TestLongestKernelOfAnOperator(t *testing.T) {
	for want, took := range map[string][]int{"a": {9, 9, 1}, "b": {5, 9, 9}, "c": {1, 2, 3}} {
		p := ranAll(t, timed{"a", took[:1]}, timed{"b", took[1:2]}, timed{"c", took[2:]})
		s := p.operators(0)
		if len(s) != 1 || s[0].Kernel != want || s[0].Kernels != 3 || s[0].Operator != opname.Other ||
			s[0].Time != time.Duration(took[0]+took[1]+took[2])*us {
			t.Errorf("%v: %+v, want %s", took, s, want)
		}
	}
}

// TestOperatorsThatNobodyKnows: a pass all of whose kernels have no operator says so in place of a table of one row.
func TestOperatorsThatNobodyKnows(t *testing.T) {
	p := passesOf(1, ms)
	r := &Report{Traces: make([]string, 1), parts: []*reportPart{p}}
	other := ReportOperator{Operator: opname.Other, Kernels: 1234, Time: ms, Stage: layer.StageDecode}
	known := ReportOperator{Operator: "o_proj", Kernels: 1, Time: ms, Stage: layer.StageDecode}
	for _, c := range []struct {
		rows []ReportOperator
		want bool
	}{{[]ReportOperator{other}, true}, {[]ReportOperator{known}, false}, {[]ReportOperator{other, known}, false}} {
		var out printer
		out.operatorsOf(r, c.rows)
		text := out.String()
		if got := strings.Contains(text, "No kernel could be mapped to a model operator: 1,234 of them."); got != c.want ||
			!strings.Contains(text, "Operators of pass 0 (decode)") || strings.Contains(text, ", trace") {
			t.Errorf("%d rows: %t\n%s", len(c.rows), got, text)
		}
	}
	var out printer
	r.Traces = make([]string, 2)
	if out.operatorsOf(r, []ReportOperator{other}); !strings.Contains(out.String(), "(decode), trace 0") {
		t.Errorf("of two traces none is named: %s", out.String())
	}
}

// TestWaterfallOfKnownFloors: each bar begins where the one above ends; where all floors are known no text doubts them.
func TestWaterfallOfKnownFloors(t *testing.T) {
	for kind, doubted := range map[roofline.ShareKind]bool{roofline.Floor: false, roofline.NoFloor: true} {
		s := waterfalls(&roofline.Report{Model: "m", Passes: []roofline.Pass{{Stage: layer.StageDecode, Wall: 8 * ms,
			Waterfall: []roofline.Share{{Name: "a", Time: 1, Kind: kind}, {Name: "none", Kind: roofline.Above},
				{Name: "b", Time: 6 * ms, Kind: roofline.Idle}}}}})
		if len(s.Falls) != 1 || len(s.Falls[0].Steps) != 2 || (s.Falls[0].Text != "") != doubted {
			t.Fatalf("%+v", s)
		}
		for n, want := range map[int]int{0: 0, 1: 1} {
			one := roofline.Pass{Stage: layer.StageDecode, Wall: ms, Waterfall: []roofline.Share{{Time: ms, Kind: kind}}[:n]}
			if got := len(waterfalls(&roofline.Report{Passes: []roofline.Pass{one}}).Falls); got != want {
				t.Errorf("of %d shares %d are drawn", n, got)
			}
		}
		a, b := s.Falls[0].Steps[0], s.Falls[0].Steps[1]
		if a.From != 0 || a.To != 1 || b.From != 1 || b.To != 1+float64(6*ms) || b.Value != "6.00 ms, 75.0%" {
			t.Errorf("%+v %+v", a, b)
		}
	}
}

// TestLongNamesInNotes: a name has a hundred letters at most.
func TestLongNamesInNotes(t *testing.T) {
	r := &Report{}
	r.checkLargest(ran(t, "void kernel<"+strings.Repeat("x", 300)+">(int)", 1, 4, 11, 3, 2), 0)
	_, name, _ := strings.Cut(strings.Join(r.Notes, ""), "depends on one row: ")
	if name, _, _ = strings.Cut(name, " takes"); len(name) > 100 || len(name) < 90 {
		t.Errorf("%d letters: %q", len(name), name)
	}
}

// TestShareOfTimes: of no time it is none.
func TestShareOfTimes(t *testing.T) {
	for _, c := range []struct {
		a, b time.Duration
		want float64
	}{{1, 0, 0}, {1, -1, 0}, {1, 1, 1}, {3, 4, .75}} {
		if got := ratio(c.a, c.b); got != c.want {
			t.Errorf("%d of %d: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

// TestVerdictOfALayersPage: the layers of the only model, and the pass that is asked for, else the steady one.
func TestVerdictOfALayersPage(t *testing.T) {
	p := ran(t, "gemm", 5)
	p.d.NumLayers, p.d.Passes[0].NumLayers, p.d.Passes[0].Confidence = 1, 1, .4
	for _, pass := range []int{trace.None, 0} {
		var b strings.Builder
		if err := WriteLayersHTML(t.Context(), &b, p.d, pass, "x"); err != nil {
			t.Fatal(err)
		}
		if want := "1 pass of 1 layer (confidence 0.40); pass 0 takes 5.00 µs<"; !strings.Contains(b.String(), want) {
			t.Errorf("pass %d: no %q", pass, want)
		}
	}
}

// TestCostsThatAreKnown: a bucket is a row where it has a cost of a token or of a request, or a floor, be it a
// nanosecond.
func TestCostsThatAreKnown(t *testing.T) {
	b := func(token, request, floored time.Duration) roofline.Bucket {
		return roofline.Bucket{Stage: layer.StageDecode, From: 1, To: 1, Passes: 1, Wall: ms, PerToken: token,
			PerRequest: request, Floored: floored}
	}
	for want, list := range map[int][]roofline.Bucket{0: {b(0, 0, 0)},
		3: {b(1, 0, 0), b(0, 0, 0), b(0, 1, 0), b(0, 0, 1)}} {
		rows := 0
		for _, table := range costs(&roofline.Report{Economy: list}).Tables {
			rows += len(table.Rows)
		}
		if rows != want {
			t.Errorf("%d rows of %d buckets, want %d", rows, len(list), want)
		}
	}
}

// TestBusiestOfTheGPUs: a report names its GPU where the trace has several and none was asked for.
func TestBusiestOfTheGPUs(t *testing.T) {
	for gpus, want := range map[int]bool{1: false, 2: true} {
		b := trace.NewBuilder(trace.Options{})
		for d := range gpus {
			b.Add(trace.EventData{Kind: event.Kernel, Name: "gemm", Start: 10_000, Duration: int64(5000 + d),
				Device: trace.DeviceID(d)})
		}
		tr, one := built.Trace(b), trace.DeviceID(0)
		for _, device := range []*trace.DeviceID{nil, &one} {
			r, err := Analyze(t.Context(), &Recording{Parts: []Part{{Trace: tr}}}, ReportOptions{Device: device})
			if err != nil {
				t.Fatal(err)
			}
			notes := strings.Join(r.Notes, "; ")
			if got := strings.Contains(notes, "analysed GPU 1 of 2, the busiest"); got != (want && device == nil) ||
				strings.Contains(notes, "of 1, the busiest") {
				t.Errorf("%d GPUs, asked for one: %t: %s", gpus, device != nil, notes)
			}
		}
	}
}
