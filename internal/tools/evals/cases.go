package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/idle"
)

// eval is a run in which one thing is planted, or nothing, and the question about it.
type eval struct {
	kind, name string
	from       source // the generator
	question   string // "" for the usual one
	// files writes the run into a folder and returns the arguments of the question.
	files func(dir string) ([]string, error)

	// What an answer has to say first: a finding of one of these codes, of this size per step.
	codes   []string
	perStep time.Duration
	// straggler is the rank that an answer has to name, "" where none is asked for, and waiting how long the other
	// one waits for it in all.
	straggler string
	waiting   time.Duration
	// abstain says that an answer must not name a cost, unless it is one of codes.
	abstain bool
	// doubts are codes of findings without a size that are true of the run.
	doubts []string
}

// eager are the doubts that are true of a server that launches kernel by kernel where it is known to replay graphs.
var eager = []string{"no-graphs", "no-compiled-code"}

// source is a generator. None shares code with another one, but for the rows of an export of Nsight Systems.
type source uint8

const (
	byLoop      source = iota // an event loop of a server: one thread, one stream
	byModel                   // a model walked through as Python does; replicas that exchange data
	byOperators               // the operators of models with their shapes
	sources
)

// String is the name of a generator.
func (s source) String() string { return [...]string{"event loop", "model", "operators"}[s] }

// run is a made-up run.
type run interface {
	WriteTorch(w io.Writer) error
	WriteNsys(path string) error
}

// torch writes a case as torch.profiler does.
func torch(c run, path string) error {
	var b bytes.Buffer
	if err := c.WriteTorch(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

// one writes one run in one format.
func one(c run, nsys bool) func(string) ([]string, error) {
	return func(dir string) ([]string, error) {
		path := filepath.Join(dir, "run.json")
		if nsys {
			path = filepath.Join(dir, "run.sqlite")
			return []string{path}, c.WriteNsys(path)
		}
		return []string{path}, torch(c, path)
	}
}

// formats are those in which a case shows its reason.
func formats(c idle.Case) (out []bool) {
	if c.Torch {
		out = append(out, false)
	}
	if c.Nsys {
		out = append(out, true)
	}
	return out
}

var formatNames = map[bool]string{false: "torch", true: "nsys"}

// evals are all cases.
func evals() ([]eval, error) {
	out, err := modelCases()
	if err != nil {
		return nil, err
	}
	for _, c := range idle.Cases() {
		c = c.Served()
		for _, nsys := range formats(c) {
			e := eval{kind: c.Cause, name: c.Name + ", " + formatNames[nsys], files: one(c, nsys),
				codes: []string{c.Cause}, perStep: c.Idle(), doubts: eager}
			switch c.Cause {
			case "":
				e.kind, e.codes, e.perStep = "missing graph", []string{"no-graphs"}, 0
			case "no-requests": // the server has nothing to do: no fault of a step
				e.kind, e.codes, e.perStep, e.abstain = "healthy", nil, 0, true
			case "blocking-copy": // the generator leaves its copy without a launch
				e.doubts = append([]string{"degraded"}, eager...)
			case "transfer":
				e.codes = []string{"transfer", "copies"}
			}
			out = append(out, e)
		}
	}
	for _, nsys := range []bool{false, true} {
		for _, length := range []time.Duration{60 * time.Microsecond, 300 * time.Microsecond, 900 * time.Microsecond} {
			c := idle.Exposed(length).Served()
			out = append(out, eval{kind: "exposed all-reduce", name: c.Name + ", " + formatNames[nsys],
				files: one(c, nsys), codes: []string{"communication"}, perStep: length, doubts: eager})
		}
		for _, factor := range []float64{1.2, 1.5, 2} {
			out = append(out, eval{kind: "regression in one operator",
				name: fmt.Sprintf("attention × %g, %s", factor, formatNames[nsys]), question: "regress",
				files: pair(idle.Slower(1).Served(), idle.Slower(factor).Served(), nsys), codes: []string{"attention"},
				perStep: idle.PerStep(factor)})
		}
		out = append(out, eval{kind: "healthy", name: "graphs, one after the other, " + formatNames[nsys],
			files: one(idle.Graphs().Served(), nsys), abstain: true},
			eval{kind: "healthy", name: "no regression, " + formatNames[nsys], question: "regress",
				files: pair(idle.Slower(1).Served(), idle.Slower(1).Served(), nsys), abstain: true})
	}
	// Of two ranks one waits in its exchange and the other does not; the finding is the mean over the steps of both,
	// without the exchange itself.
	const steps = 40
	for _, by := range []time.Duration{150 * time.Microsecond, 400 * time.Microsecond, 800 * time.Microsecond} {
		out = append(out, eval{kind: "late rank", name: "by " + by.String(), question: "ranks", files: twoRanks(by),
			codes: []string{"communication"}, perStep: by / 2, straggler: "1", waiting: steps * by, doubts: eager})
	}
	for _, nsys := range []bool{false, true} {
		for _, c := range idle.MisalignedRuns() {
			out = append(out, eval{kind: "misaligned product", from: byOperators, name: c.Name + ", " + formatNames[nsys],
				files: one(c, nsys), codes: []string{"misaligned"}, perStep: c.PerStep})
		}
		for _, c := range idle.AttentionRuns() {
			out = append(out, eval{kind: "eager attention", from: byOperators, name: c.Name + ", " + formatNames[nsys],
				files: one(c, nsys), codes: []string{"Attention as bmm, softmax, bmm"}, perStep: c.PerStep})
		}
	}
	return append(out, broken()...), nil
}

// pair writes two runs to compare.
func pair(before, after idle.Case, nsys bool) func(string) ([]string, error) {
	return twice(one(before, nsys), one(after, nsys))
}

// twice writes two runs to compare.
func twice(before, after func(string) ([]string, error)) func(string) ([]string, error) {
	return func(dir string) ([]string, error) {
		var paths [2]string
		for i, write := range []func(string) ([]string, error){before, after} {
			sub := filepath.Join(dir, []string{"before", "after"}[i])
			if err := os.Mkdir(sub, 0o777); err != nil {
				return nil, err
			}
			args, err := write(sub)
			if err != nil {
				return nil, err
			}
			paths[i] = args[0]
		}
		return []string{paths[1], "--against", paths[0]}, nil
	}
}

// twoRanks writes two ranks.
func twoRanks(by time.Duration) func(string) ([]string, error) {
	return func(dir string) ([]string, error) {
		for i, c := range idle.Late(by) {
			if err := torch(c.Served(), filepath.Join(dir, fmt.Sprintf("run-TP-%d.trace.json", i))); err != nil {
				return nil, err
			}
		}
		return []string{dir}, nil
	}
}

// edit changes the file of a run.
func edit(write func(string) ([]string, error), change func([]byte) []byte) func(string) ([]string, error) {
	return func(dir string) ([]string, error) {
		args, err := write(dir)
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(args[0])
		if err != nil {
			return nil, err
		}
		return args, os.WriteFile(args[0], change(data), 0o666)
	}
}

// captured writes a run as a capture of prefills that was judged so.
func captured(verdict string, write func(string) ([]string, error)) func(string) ([]string, error) {
	return func(dir string) ([]string, error) {
		manifest := `{"schema": "strata.capture/1", "stages": [{"stage": "prefill", "verdict": "` + verdict +
			`", "traces": [{"path": "run.json"}],
			"checks": [{"name": "stages", "outcome": "fail", "detail": "40 of 40 passes are decodes", "fix": "send new prompts"}]}]}`
		if err := os.WriteFile(filepath.Join(dir, "capture.json"), []byte(manifest), 0o666); err != nil {
			return nil, err
		}
		return write(dir)
	}
}

// broken are runs about which nothing can be known, whatever is planted in them: an answer has to say so.
func broken() []eval {
	planted := one(idle.Cases()[0].Served(), false)
	return []eval{
		{kind: "damaged", name: "no GPU activity", abstain: true, files: edit(planted, func(s []byte) []byte {
			return []byte(strings.NewReplacer(`"kernel"`, `"cpu_op"`, `"gpu_memcpy"`, `"cpu_op"`).Replace(string(s)))
		})},
		{kind: "damaged", name: "no events", abstain: true,
			files: edit(planted, func([]byte) []byte { return []byte(`{"schemaVersion":1,"traceEvents":[]}`) })},
		{kind: "damaged", name: "no steps and no GPU", abstain: true, files: edit(planted, func([]byte) []byte {
			return []byte(`{"schemaVersion":1,"traceEvents":[{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":2}]}`)
		})},
		{kind: "damaged", name: "cut in the first step", abstain: true,
			files: edit(planted, func(s []byte) []byte { return s[:2000] })},
		{kind: "damaged", name: "no JSON", abstain: true,
			files: edit(planted, func(s []byte) []byte { return bytes.Repeat([]byte{0, 1}, len(s)/2) })},
		{kind: "damaged", name: "times of graph kernels mixed up", abstain: true, codes: []string{"gpu-dispatch"},
			files: func(dir string) ([]string, error) {
				var b bytes.Buffer
				if _, err := gen.ScrambledReplay().Write(&b); err != nil {
					return nil, err
				}
				path := filepath.Join(dir, "run.json")
				return []string{path}, os.WriteFile(path, b.Bytes(), 0o666)
			}},
		{kind: "wrong stage", name: "a capture of prefills that holds decodes", abstain: true,
			files: captured("INVALID", planted)},
	}
}
