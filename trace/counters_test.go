package trace_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// withCounters is a trace of one kernel that runs from 10 to 110 µs, with these events beside it.
func withCounters(t *testing.T, o trace.Options, events ...string) *trace.Trace {
	t.Helper()
	doc := `{"traceEvents":[
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":10,"dur":100,"args":{"device":0,"stream":7,"correlation":1}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":9,"ts":1,"dur":2,"args":{"correlation":1}}`
	for _, e := range events {
		doc += ",\n" + e
	}
	tr, err := trace.Read(context.Background(), strings.NewReader(doc+"]}"), o)
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// sample is one value as PyTorch's recorder writes it.
func sample(process, name string, ts int, value string) string {
	return fmt.Sprintf(`{"ph":"C","name":%q,"pid":%q,"ts":%d,"args":{"":%s}}`, name, process, ts, value)
}

func TestCounters(t *testing.T) {
	tr := withCounters(t, trace.Options{},
		sample("GPU 0 Counters", "SM Clock (MHz)", 0, "345"), // before the GPU works
		sample("GPU 0 Counters", "SM Clock (MHz)", 20, "1980.0"),
		sample("GPU 0 Counters", "SM Clock (MHz)", 60, "1965.0"),
		sample("GPU 0 Counters", "SM Clock (MHz)", 110, "1950.0"),
		sample("GPU 0 Counters", "SM Clock (MHz)", 111, "345"), // and after
		sample("GPU 0 Counters", "Power (mW)", 50, "650500"),
		sample("GPU 0 Counters", "HBM BW (%)", 50, "71.5"),
		sample("GPU 0 Counters", "some__metric.sum", 50, "7"),
		sample("GPU 1 Counters", "Power (W)", 50, "90"), // a GPU that does nothing
		`{"ph":"C","name":"queue","pid":4,"ts":30,"args":{"waiting":3,"running":"2","note":"text"}}`,
		`{"ph":"C","name":"queue","pid":4,"ts":31,"args":{"waiting":3,"running":2}}`)
	want := []trace.Counter{
		{Device: 0, Name: "HBM BW (%)", Quantity: "dram", Samples: 1, Min: 71.5, Median: 71.5, Max: 71.5},
		{Device: 0, Name: "Power (mW)", Quantity: "power", Samples: 1, Min: 650.5, Median: 650.5, Max: 650.5},
		{Device: 0, Name: "SM Clock (MHz)", Quantity: "sm-clock", Samples: 3, Min: 1950, Median: 1965, Max: 1980},
		{Device: 0, Name: "some__metric.sum", Samples: 1, Min: 7, Median: 7, Max: 7},
	}
	if diff := cmp.Diff(want, tr.Counters()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	var lane []string
	for e := range tr.Events(event.LaneCounter) {
		lane = append(lane, fmt.Sprint(e.Start(), " ", e.Device(), " ", e.Name(), " ", e.Data().Value))
	}
	if diff := cmp.Diff([]string{
		"0 0 SM Clock (MHz) 345", "20000 0 SM Clock (MHz) 1980", "31000 -1 queue running 2", "31000 -1 queue waiting 3",
		"50000 0 Power (mW) 650500", "50000 0 HBM BW (%) 71.5", "50000 0 some__metric.sum 7", "50000 1 Power (W) 90",
		"60000 0 SM Clock (MHz) 1965", "110000 0 SM Clock (MHz) 1950", "111000 0 SM Clock (MHz) 345",
	}, lane); diff != "" {
		t.Errorf("lane (-want +got)\n%s", diff)
	}
	if _, end := tr.Window(); end != 110_000 {
		t.Errorf("the window ends at %d, want with the kernel", end)
	}
	if n := withCounters(t, trace.Options{Lanes: []event.Lane{event.LaneGPU}},
		sample("GPU 0 Counters", "Power (W)", 50, "1")).Len(event.LaneCounter); n != 0 {
		t.Errorf("%d samples stored that were not asked for", n)
	}
}

// A clock that varies by more than 3% of its highest value is noted.
func TestClockChanged(t *testing.T) {
	for _, c := range []struct {
		name, low, high string
		want            bool
	}{
		{"SM Clock (MHz)", "1940.5", "2000", false}, // 2.98%
		{"SM Clock (MHz)", "1940", "2000", false},   // 3%
		{"SM Clock (MHz)", "1939.5", "2000", true},  // 3.03%
		{"Memory Clock (MHz)", "1900", "2000", true},
		{"SM Clock (GHz)", "1.9", "2", true},
		{"Power (W)", "100", "700", false},
		{"SM Clock", "100", "700", false}, // in what unit?
	} {
		h := withCounters(t, trace.Options{}, sample("GPU 0 Counters", c.name, 20, c.low),
			sample("GPU 0 Counters", c.name, 60, c.high)).Health()
		got := false
		for _, f := range h.Findings {
			got = got || f.Code == trace.CodeClockChanged
		}
		if got != c.want || h.Status != trace.HealthOK {
			t.Errorf("%s from %s to %s: noted %v, want %v (%s)", c.name, c.low, c.high, got, c.want, h.Status)
		}
	}
}

// Each quantity is given in one unit, whatever unit its name has.
func TestUnitsOfCounters(t *testing.T) {
	for _, c := range []struct {
		name, quantity string
		factor         float64
	}{
		{"SM Clock (MHz)", "sm-clock", 1}, {"SM Clock (GHz)", "sm-clock", 1000}, {"GFXCLK (kHz)", "sm-clock", .001},
		{"sclk (Hz)", "sm-clock", .000001},
		{"Memory Clock (GHz)", "memory-clock", 1000}, {"mclk (MHz)", "memory-clock", 1},
		{"Power (W)", "power", 1}, {"Power (mW)", "power", .001}, {"Power ( kW )", "power", 1000},
		{"Power (VA)", "", 1},
		{"Temperature (C)", "temperature", 1}, {"GPU Temperature (°C)", "temperature", 1}, {"Temperature (F)", "", 1},
		{"DRAM BW (%)", "dram", 1}, {"SM Active (%)", "sm-active", 1}, {"SM Active", "", 1}, {"Fan (%)", "", 1},
	} {
		got := withCounters(t, trace.Options{}, sample("GPU 0 Counters", c.name, 10, "2"),
			sample("GPU 0 Counters", c.name, 20, "4")).Counters()
		if len(got) != 1 || string(got[0].Quantity) != c.quantity || got[0].Samples != 2 || got[0].Min != 2*c.factor ||
			got[0].Median != 2*c.factor || got[0].Max != 4*c.factor {
			t.Errorf("%s: %+v, want %q from %v to %v", c.name, got, c.quantity, 2*c.factor, 4*c.factor)
		}
	}
}

// The name of its process says which GPU a counter is of.
func TestGPUsOfCounters(t *testing.T) {
	for process, want := range map[string]trace.DeviceID{
		"GPU 0 Counters": 0, "GPU 3": 3, "[TP01] GPU 2 Counters": 2, "GPU x": trace.None, "CPU 0": trace.None,
		"GPU 4294967296": trace.None, "": trace.None,
	} {
		tr := withCounters(t, trace.Options{}, sample(process, "Power (W)", 50, "1"))
		if got, n := tr.LaneAt(event.LaneCounter, 0).Device(), len(tr.Counters()); got != want ||
			(n == 1) != (want == 0) {
			t.Errorf("%q: GPU %d with %d counters while it worked, want %d", process, got, n, want)
		}
	}
	two := withCounters(t, trace.Options{},
		`{"ph":"X","cat":"kernel","name":"k","pid":1,"tid":7,"ts":30,"dur":100,"args":{"device":1,"stream":7,"correlation":1}}`,
		sample("GPU 1 Counters", "A (W)", 130, "1"), sample("GPU 0 Counters", "B (W)", 20, "1"),
		sample("GPU 0 Counters", "A (W)", 20, "1"), sample("GPU 1 Counters", "A (W)", 20, "1"),
		sample("GPU 0 Counters", "A (W)", 120, "1"))
	var got []string
	for _, c := range two.Counters() {
		got = append(got, fmt.Sprint(c.Device, c.Name, c.Samples))
	}
	if diff := cmp.Diff([]string{"0A (W)1", "0B (W)1", "1A (W)1"}, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Values that are no numbers are counted as lost where a GPU's recorder wrote them.
func TestBadCounter(t *testing.T) {
	for value, want := range map[string]int{"1e999": 1, "{}": 1, "NaN": 1, "5": 0} {
		if got := len(withCounters(t, trace.Options{},
			sample("GPU 0 Counters", "Power (W)", 50, value)).Health().Losses); got != want {
			t.Errorf("%s: %d losses, want %d", value, got, want)
		}
	}
}
