package compare_test

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// op is an operation of steps of about 10 ms: its mean in µs.
type op struct {
	name, place string
	us, count   float64
	every       int // it occurs in each so manyth step; 0: in all
}

// withHost gives the run of a side operations of the host.
func withHost(s *compare.Side, seed uint64, ops ...op) *compare.Side {
	r := rand.New(rand.NewPCG(seed, 7))
	run := &s.Runs[0]
	h := &compare.Host{}
	for i := range run.Passes {
		h.Passes = append(h.Passes, run.Passes[i].Index)
		h.Walls = append(h.Walls, run.Passes[i].Wall)
	}
	for _, o := range ops {
		x := compare.Operation{Kind: "range", Name: o.name, Class: "host", Place: o.place, Count: max(o.count, 1)}
		for i := range h.Walls {
			d := time.Duration(1e3 * o.us * (1 + 0.03*r.NormFloat64()))
			if o.every > 1 && i%o.every != 0 {
				d = 0
			}
			x.Steps = append(x.Steps, d)
		}
		h.Operations = append(h.Operations, x)
	}
	run.Host = h
	return s
}

// Each case of a host that changed, and what is said of it.
func TestHostOperations(t *testing.T) {
	base := []op{{name: "schedule", us: 400}, {name: "prepare", us: 680, place: "schedule"}, {name: "sample", us: 300}}
	for _, c := range []struct {
		name     string
		passes   int
		ops      []op
		findings string // kind and operation
		first    string
	}{
		{"nothing", 40, base, "", "none"},
		{"+40% of 680 µs", 40, []op{base[0], {name: "prepare", us: 952, place: "schedule"}, base[2]}, "host prepare",
			"prepare"},
		{"+40% of 680 µs in eleven steps", 11, []op{base[0], {name: "prepare", us: 952, place: "schedule"}, base[2]},
			"", "none"},
		{"2 µs more", 40, append([]op{{name: "note", us: 2}}, base...), "", "none"},
		{"200 µs more", 40, append([]op{{name: "note", us: 200}}, base...), "host-new note", "note"},
		{"1 ms more in each fourth step", 40, append([]op{{name: "collect", us: 1000, every: 4}}, base...), "", "none"},
		{"1 ms more in each second step", 40, append([]op{{name: "collect", us: 1000, every: 2}}, base...),
			"host-new collect", "collect"},
		{"renamed", 40, []op{base[0], {name: "prepare_v2", us: 690, place: "schedule"}, base[2]},
			"host-renamed prepare_v2", "none"},
		{"renamed, elsewhere", 40, []op{base[0], {name: "prepare_v2", us: 690, place: "sample"}, base[2]},
			"host-new prepare_v2,host-removed prepare", "prepare_v2"},
		{"renamed, twice as often", 40, []op{base[0], {name: "prepare_v2", us: 690, place: "schedule", count: 2},
			base[2]}, "host-new prepare_v2,host-removed prepare", "prepare_v2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a, b := withHost(side(1, c.passes, nil), 1, base...), withHost(side(2, c.passes, nil), 2, c.ops...)
			r := report(t, a, b, compare.Options{})
			var got []string
			for _, f := range r.Findings {
				got = append(got, f.Kind.String()+" "+f.Code)
			}
			if s := strings.Join(got, ","); s != c.findings {
				t.Errorf("findings %q, want %q", s, c.findings)
			}
			if first := r.First.Code; first != c.first && (c.first != "none" || r.First.Kind != finding.NoKind) {
				t.Errorf("first target %+v, want %s", r.First, c.first)
			}
		})
	}
}

// What takes more is the innermost operation that has most of the difference, not all that it runs inside of: neither
// finding nor line of the table is about these. An operation that has it from several others keeps it.
func TestInnermostOperation(t *testing.T) {
	stack := func(more, prepare, send float64) []op {
		return []op{{name: "loop", us: 5000 + more}, {name: "schedule", us: 1500 + more, place: "loop"},
			{name: "prepare", us: 680 + prepare, place: "schedule"}, {name: "send", us: 620 + send, place: "schedule"},
			{name: "sample", us: 300, place: "loop"}}
	}
	for _, c := range []struct {
		name                string
		more, prepare, send float64
		listed, left        string // of the operations with a difference
	}{{"of one", 400, 400, 0, "prepare", "loop schedule"}, {"of several", 600, 300, 300, "schedule prepare send", "loop"}} {
		a, b := withHost(side(1, 40, nil), 1, stack(0, 0, 0)...), withHost(side(2, 40, nil), 2,
			stack(c.more, c.prepare, c.send)...)
		r := report(t, a, b, compare.Options{})
		var text bytes.Buffer
		if err := r.WriteText(&text); err != nil {
			t.Fatal(err)
		}
		for _, name := range strings.Fields(c.listed) {
			if !strings.Contains(text.String(), "\n"+name+" ") || !strings.Contains(kindsOf(r), "host "+name) {
				t.Errorf("%s: no line or finding of %s (%s):\n%s", c.name, name, kindsOf(r), text.String())
			}
		}
		for _, name := range strings.Fields(c.left) {
			if strings.Contains(text.String(), "\n"+name+" ") || strings.Contains(kindsOf(r), "host "+name) {
				t.Errorf("%s: %s has a line or finding (%s):\n%s", c.name, name, kindsOf(r), text.String())
			}
		}
		if first := strings.Fields(c.listed)[0]; r.First.Code != first {
			t.Errorf("%s: the first target is %+v, want %s", c.name, r.First, first)
		}
	}
}

// The first target is the worst clear change of either kind, and idle time is shown with the operation that may have
// caused it.
func TestFirstTarget(t *testing.T) {
	host := func(us float64) *compare.Side {
		return withHost(side(2, 40, times("attention", 1.6)), 2, op{name: "prepare", us: us})
	}
	a := withHost(side(1, 40, nil), 1, op{name: "prepare", us: 680})
	if r := report(t, a, host(980), compare.Options{}); r.First.Code != "attention" {
		t.Errorf("attention +660 µs, prepare +300 µs: %+v", r.First)
	}
	if r := report(t, a, host(1680), compare.Options{}); r.First.Code != "prepare" {
		t.Errorf("attention +660 µs, prepare +1000 µs: %+v", r.First)
	}
	idle := withHost(side(2, 40, func(n string, us float64) float64 {
		if n == "idle" {
			return us + 2000
		}
		return us
	}), 2, op{name: "prepare", us: 1680})
	r := report(t, a, idle, compare.Options{})
	if r.First.Code != "idle" || !strings.Contains(r.First.Evidence, "prepare") || r.Verdict != compare.Slower {
		t.Errorf("idle time +2 ms while prepare takes 1 ms more: %s, %+v", r.Verdict, r.First)
	}
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "Look first at: idle") ||
		!strings.Contains(text.String(), "What the host does") {
		t.Errorf("%v:\n%s", err, text.String())
	}
}

// A saved side keeps its host, and one whose parts do not fit together is refused.
func TestSavedHost(t *testing.T) {
	a := withHost(side(1, 20, nil), 1, op{name: "prepare", us: 680})
	var buf bytes.Buffer
	if err := a.Write(&buf); err != nil {
		t.Fatal(err)
	}
	s, err := compare.ReadSide(bytes.NewReader(buf.Bytes()))
	if err != nil || len(s.Runs[0].Host.Operations) != 1 {
		t.Fatalf("%v, %+v", err, s)
	}
	for name, edit := range map[string][2]string{"a class that is none": {`"class":"host"`, `"class":"guest"`},
		"a step without a pass": {`"passes":[0,1,`, `"passes":[0,`},
		"a step without a time": {`"step_ns":[`, `"step_ns":[1,`}, "a negative count": {`"count":1`, `"count":-1`}} {
		text := strings.Replace(buf.String(), edit[0], edit[1], 1)
		if text == buf.String() {
			t.Fatalf("%s: nothing was edited", name)
		}
		if _, err := compare.ReadSide(strings.NewReader(text)); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

// ticks is a server whose passes of 1 ms follow one another after a gap; each so manyth gap is a long one.
func ticks(t *testing.T, n int, gap, long time.Duration, every int) *compare.Run {
	return ticksOf(t, n, gap, long, every, func(int) string { return "gemm" })
}

// ticksOf names the kernels of each pass.
func ticksOf(t *testing.T, n int, gap, long time.Duration, every int, name func(pass int) string) *compare.Run {
	t.Helper()
	b := trace.NewBuilder(trace.Options{})
	at, id := int64(0), uint64(0)
	add := func(kind event.Kind, name string, start, duration int64) {
		b.Add(trace.EventData{Kind: kind, Name: name, Start: start, Duration: duration, Stream: 7, Process: 1,
			Scope: "a", Thread: 1, Correlation: id})
	}
	for i := range n {
		id = 0
		add(event.Annotation, "execute_context_0(0)_generation_8(8)", at, int64(time.Millisecond))
		for k := range int64(20) {
			id++
			id += uint64(20 * i)
			add(event.Runtime, "cudaLaunchKernel", at+k*50_000, 100)
			add(event.Kernel, name(i), at+k*50_000+500, 49_500)
			id -= uint64(20 * i)
		}
		at += int64(time.Millisecond)
		if i%every == 0 {
			at += int64(long)
		} else {
			at += int64(gap)
		}
	}
	_, run := runOf(t, built.Trace(b), layer.Options{})
	return run
}

// TestKernelsOfOneShortName: kernels that tables call alike are others where their full names differ, whichever ran
// first.
func TestKernelsOfOneShortName(t *testing.T) {
	fill := func(element string) string {
		return "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<" + element +
			">, std::array<char*, 1ul> >(int, at::native::FillFunctor<" + element + ">, std::array<char*, 1ul>)"
	}
	for _, first := range []int{0, 1} {
		run := ticksOf(t, 6, time.Millisecond, time.Millisecond, 1, func(pass int) string {
			return fill([]string{"int", "long"}[(pass+first)%2])
		})
		for p := range run.Passes {
			want := []string{"FillFunctor<int>", "FillFunctor<long>"}[(p+first)%2]
			for _, part := range run.Passes[p].Parts {
				if of := run.Parts[part.Part]; part.Count > 0 && (of.Name != "FillFunctor" || !strings.Contains(of.Base, want)) {
					t.Errorf("pass %d runs %s, of base %q, want %s", p, of.Name, of.Base, want)
				}
			}
		}
	}
}

// The time after a pass belongs to the step, however rare so long a time is: the host is slow. Where nothing is
// recorded, that is said of times that come in most steps; a rare one of over a tenth of a second is a pause.
func TestLongTimesBetweenPasses(t *testing.T) {
	const short, long = 100 * time.Microsecond, 3 * time.Millisecond
	for _, c := range []struct {
		name  string
		long  time.Duration
		every int
		want  time.Duration // of a step with a long time after it
	}{
		{"behind each pass", long, 1, 4 * time.Millisecond},
		{"behind each second", long, 2, 4 * time.Millisecond},
		{"behind each third", long, 3, 4 * time.Millisecond},
		{"long, in each step", 99 * time.Millisecond, 1, 100 * time.Millisecond},
		{"longer, in each step", 101 * time.Millisecond, 1, 102 * time.Millisecond},
		{"just not a pause", 99 * time.Millisecond, 2, 100 * time.Millisecond},
		{"a pause", 101 * time.Millisecond, 2, time.Millisecond},
	} {
		run := ticks(t, 13, short, c.long, c.every)
		if got := run.Passes[0].Wall.Round(100 * time.Microsecond); len(run.Passes) != 13 || got != c.want {
			t.Errorf("%s: %d passes, a step takes %v, want 13 of %v", c.name, len(run.Passes), got, c.want)
		}
	}
}

// TestFamiliesOfOperations: each family's word is read back, and no other word.
func TestFamiliesOfOperations(t *testing.T) {
	for _, k := range compare.OperationKinds() {
		back := compare.OperationKind("")
		if err := back.UnmarshalText([]byte(k)); err != nil || back != k {
			t.Errorf("%q is read as %q: %v", k, back, err)
		}
	}
	if k := compare.APIKind; k.UnmarshalText([]byte("frame")) == nil || k != compare.APIKind {
		t.Errorf("an unknown word is read as %q", k)
	}
}
