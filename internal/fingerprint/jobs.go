package main

import (
	"path"
	"strings"
)

// job is one document: a program's output for a trace in a format.
type job struct {
	program, trace, format string
	args                   []string
	file                   string // the document is this file that the program writes; "": its stdout
}

// key is the line of a job without the hash.
func (j job) key() string { return j.program + " " + j.trace + " " + j.format }

// outFile stands for the file that a program writes besides stdout.
const outFile = "OUT"

// format is one way to ask a program for a document. In its arguments TRACE
// is replaced by the trace.
type format struct {
	name string
	args string
}

// programs are the programs that read one trace, and what each is asked.
var programs = []struct {
	name    string
	formats []format
}{
	{"layer-timeline", []format{
		{"text", "--format text --show-all-passes"}, {"json", "--format json"},
		{"json-anchor-opens", "--format json --boundaries anchor-opens"}, {"html", "--html OUT"},
	}},
	{"layer-breakdown", []format{
		{"text", "--format text --layer 3"}, {"compute-flow", "--format compute-flow --layer 3 --compare-layer 4"},
		{"json", "--format json --layer 3 --compare-layer 4"},
	}},
	{"perfetto-map", []format{
		{"text", "--format text --layers 1,3"}, {"json", "--format json --layers 1,3"},
		{"annotate", "--annotate OUT.json"}, {"slice", "--slice OUT.json --redact all"},
	}},
	{"triage", []format{
		{"markdown", "--format markdown"}, {"json", "--format json --min-share 0"},
		{"json-keyword", "--format json --fuse-mode keyword"}, {"html", "--html OUT"}, {"pprof", "--pprof OUT"},
	}},
	{"host-detect", []format{
		{"text", "--format text"}, {"json", "--format json --handoff"}, {"json-comparable", "--format json --devices merged --comparable"},
	}},
	{"host-compare", []format{{"text", "--format text"}, {"json", "--format json"}}},
	{"kernel-export", []format{{"csv", "--format csv --device all --stacks --module"}, {"ndjson", "--format ndjson"}}},
}

// pairs are the questions that take two traces, by the names that layOut gives.
var pairs = []struct {
	program, name string
	formats       []format
	first, second string // both must be there
}{
	{"triage", "mapped-qwen3-8b", []format{
		{"markdown", "--mapping-input FIRST --formal-input SECOND --format markdown"},
		{"json", "--mapping-input FIRST --formal-input SECOND --format json --min-share 0"},
	}, "torch/sglang-qwen3-8b-graph-capture-mi300.json.gz", "torch/sglang-qwen3-8b-decode-graph-mi300.json.gz"},
	{"layer-breakdown", "mapped-qwen3-8b", []format{
		{"json", "--mapping-input FIRST --trace SECOND --format json --layer 3"},
	}, "torch/sglang-qwen3-8b-extend-eager-mi300.json.gz", "torch/sglang-qwen3-8b-decode-graph-mi300.json.gz"},
	{"triage", "compared-qwen3-30b", []format{
		{"markdown", "--compare-input FIRST --input SECOND --format markdown"},
	}, "torch/sglang-qwen3-30b-a3b-b300-TP-0-DECODE.trace.json.gz", "torch/sglang-qwen3-30b-a3b-mi300-TP-0-DECODE.trace.json.gz"},
	{"host-compare", "trtllm", []format{
		{"text", "--baseline FIRST --target SECOND --format text"}, {"json", "--baseline FIRST --target SECOND --format json"},
	}, "nsys/synthetic-trtllm-baseline.sqlite", "nsys/synthetic-trtllm-target.sqlite"},
	{"host-compare", "generated-nsys", []format{
		{"json", "--baseline FIRST --target SECOND --format json"},
	}, "generated/nsys-graphs.sqlite", "generated/nsys-slow.sqlite"},
}

// demo is the trace that a program shows when it is given none.
const demo = "demo"

// jobs lists every job for the traces.
func jobs(traces []string) []job {
	var all []job
	for _, trace := range traces {
		for _, p := range programs {
			for _, f := range p.formats {
				args := strings.Fields(f.args)
				if trace != demo {
					args = append([]string{"--trace", trace}, args...)
				}
				all = append(all, newJob(p.name, label(trace), f.name, args))
			}
		}
	}
	there := map[string]bool{}
	for _, trace := range traces {
		there[trace] = true
	}
	for _, p := range pairs {
		if !there[p.first] || !there[p.second] {
			continue
		}
		for _, f := range p.formats {
			args := strings.Fields(strings.NewReplacer("FIRST", p.first, "SECOND", p.second).Replace(f.args))
			all = append(all, newJob(p.program, p.name, f.name, args))
		}
	}
	return all
}

// newJob finds out from the arguments which file holds the document.
func newJob(program, trace, format string, args []string) job {
	j := job{program: program, trace: trace, format: format, args: args}
	for _, a := range args {
		if strings.HasPrefix(a, outFile) {
			j.file = a
		}
	}
	return j
}

// label is a trace's name without what every name ends in.
func label(trace string) string {
	for _, suffix := range []string{".gz", ".zst", ".json", ".sqlite", ".trace", ".pt"} {
		trace = strings.TrimSuffix(trace, suffix)
	}
	return path.Clean(trace)
}
