package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// small is a trace of one launch under two ops and three frames.
const small = `{"schemaVersion": 1, "traceName": "/home/x", "traceEvents": [
{"ph":"X","cat":"python_function","name":"f.py(1): outermost","pid":1,"tid":1,"ts":0,"dur":100,"args":{"Python id":10,"Python parent id":null,"Ev Idx":7}},
{"ph":"X","cat":"python_function","name":"e.py(1): x","pid":1,"tid":1,"ts":0.1,"dur":99,"args":{"Python id":11,"Python parent id":10}},
{"ph":"X","cat":"python_function","name":"d.py(1): x","pid":1,"tid":1,"ts":0.2,"dur":98,"args":{"Python id":12,"Python parent id":11}},
{"ph":"X","cat":"python_function","name":"torch/a.py(1): x","pid":1,"tid":1,"ts":0.3,"dur":97,"args":{"Python id":13,"Python parent id":12}},
{"ph":"X","cat":"python_function","name":"a.py(1): outer","pid":1,"tid":1,"ts":0.4,"dur":96,"args":{"Python id":1,"Python parent id":13}},
{"ph":"X","cat":"python_function","name":"b.py(2): middle","pid":1,"tid":1,"ts":1,"dur":90,"args":{"Python id":2,"Python parent id":1}},
{"ph":"X","cat":"python_function","name":"nn.Module: Linear_0","pid":1,"tid":1,"ts":2,"dur":80,"args":{"Python id":3,"Python parent id":2}},
{"ph":"X","cat":"python_function","name":"torch/x.py(3): call","pid":1,"tid":1,"ts":3,"dur":70,"args":{"Python id":4,"Python parent id":3}},
{"ph":"X","cat":"cpu_op","name":"aten::linear","pid":1,"tid":1,"ts":4.5,"dur":60,"args":{"External id":9,"Input Dims":[[1]],"Input Strides":[[1]]}},
{"ph":"X","cat":"cpu_op","name":"aten::view","pid":1,"tid":1,"ts":5,"dur":1,"args":{}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":10,"dur":2,"args":{"correlation":5,"cbid":211}},
{"ph":"s","cat":"ac2g","name":"ac2g","id":5,"pid":1,"tid":1,"ts":10},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":20.123,"dur":3.001,"args":{"device":0,"stream":7,"correlation":5,"queued":0,"grid":[1,1,1]}}]}`

// reduce returns the events of the reduced copy, by name.
func reduce(t *testing.T, text string, rec recipe) map[string]event {
	t.Helper()
	data, err := reduceTrace(strings.NewReader(text), rec)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), "/home/x") {
		t.Errorf("the copy names where the trace was written")
	}
	var doc struct{ TraceEvents []event }
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	byName := map[string]event{}
	for _, e := range doc.TraceEvents {
		byName[e.Name] = e
	}
	return byName
}

func TestReduceKeepsWhatLaunchesNeed(t *testing.T) {
	got := reduce(t, small, recipe{frames: moduleFrames, shapes: true})
	for _, name := range []string{"nn.Module: Linear_0", "b.py(2): middle", "a.py(1): outer", "e.py(1): x",
		"aten::linear", "cudaLaunchKernel", "k"} {
		if _, ok := got[name]; !ok {
			t.Errorf("%s is gone, want it kept", name)
		}
	}
	for _, name := range []string{"f.py(1): outermost", "torch/x.py(3): call", "aten::view", "ac2g"} {
		if _, ok := got[name]; ok {
			t.Errorf("%s is kept, want it gone", name)
		}
	}
	if k := got["k"]; k.TS != "20.123" || k.Dur != "3.001" || k.Args["queued"] != nil ||
		string(k.Args["grid"]) != "[1,1,1]" {
		t.Errorf("kernel = %+v, want its numbers as written, the grid and no queue", k)
	}
	if parent := string(got["a.py(1): outer"].Args["Python parent id"]); parent != "12" {
		t.Errorf("parent of outer = %s, want 12, the nearest that stays", parent)
	}
	if parent := string(got["e.py(1): x"].Args["Python parent id"]); parent != "null" {
		t.Errorf("parent of e = %s, want null: outermost is gone", parent)
	}
	if op := got["aten::linear"]; op.Args["Input Dims"] == nil || op.Args["Input Strides"] != nil {
		t.Errorf("op's args = %v, want dims and no strides", op.Args)
	}
}

func TestReduceCutsTheWindowByLaunches(t *testing.T) {
	late := `{"ph":"X","cat":"cuda_runtime","name":"lateLaunch","pid":1,"tid":1,"ts":90,"dur":2,"args":{"correlation":6}},
{"ph":"X","cat":"kernel","name":"late","pid":0,"tid":7,"ts":95,"dur":5,"args":{"device":0,"stream":7,"correlation":6}},
{"ph":"X","cat":"kernel","name":"spill","pid":0,"tid":7,"ts":70,"dur":5,"args":{"device":0,"stream":7,"correlation":5}}]}`
	got := reduce(t, strings.TrimSuffix(small, "]}")+","+late, recipe{to: 0.5})
	if _, ok := got["late"]; ok {
		t.Errorf("a kernel launched behind the window is kept")
	}
	if _, ok := got["spill"]; !ok {
		t.Errorf("a kernel launched in the window that runs behind it is gone")
	}
}
