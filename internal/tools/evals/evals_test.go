package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/tools/repository"
)

// TestEvals: at least 40 planted cases of at least 12 kinds, 95% of them right and none wrong; every healthy and
// damaged run makes an answer abstain; half of the kinds come from two generators; and the committed report is what
// the program writes.
func TestEvals(t *testing.T) {
	if err := repository.Enter(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin, err := build(dir)
	if err != nil {
		t.Fatal(err)
	}
	results, err := all(bin, dir)
	if err != nil {
		t.Fatal(err)
	}
	kinds, by := map[string]bool{}, map[string][sources]bool{}
	planted, good, none := 0, 0, 0
	for _, r := range results {
		from := by[r.kind]
		from[r.from] = true
		by[r.kind] = from
		if r.grade == wrong {
			t.Errorf("%s, %s: %s: %s", r.kind, r.name, r.grade, r.said)
		}
		switch {
		case r.abstain:
			none++
			if r.grade != right {
				t.Errorf("%s, %s: it must abstain", r.kind, r.name)
			}
		default:
			planted++
			kinds[r.kind] = true
			if r.grade == right {
				good++
			}
		}
	}
	const cases, sorts, share = 40, 12, 0.95
	if planted < cases || len(kinds) < sorts || float64(good) < share*float64(planted) || none < 10 {
		t.Errorf("%d of %d planted cases of %d kinds are right, %d must abstain", good, planted, len(kinds), none)
	}
	twice := 0
	for _, from := range by {
		if from[byLoop] && from[byModel] {
			twice++
		}
	}
	if 2*twice < len(by) {
		t.Errorf("%d of %d kinds are planted by two generators, want half of them", twice, len(by))
	}
	for path, want := range map[string]string{filepath.Join("docs", "evals.md"): report(results),
		caseFile: caseList(results)} {
		if committed, err := os.ReadFile(path); err != nil || string(committed) != want {
			t.Errorf("%s is not what go run -C internal/tools ./evals -o docs/evals.md writes (%v)", path, err)
		}
	}
}

// TestMain is also an agent, for TestAgent: it reads a prompt, runs the program on the files and answers with the first
// finding that has a size.
func TestMain(m *testing.M) {
	mode := os.Getenv("EVALS_AGENT")
	if mode == "" {
		os.Exit(m.Run())
	}
	text, err := os.ReadFile(os.Args[len(os.Args)-1])
	if err != nil || mode == "fails" {
		fmt.Fprintln(os.Stderr, "no model here")
		os.Exit(1)
	}
	words := regexp.MustCompile(`(?s)The profiler traces? .*?in (\S+?)(?:, that of the run before in (\S+))?[.] ` +
		`The program strata is at (\S+)[.]\n(What became slower|What keeps the ranks)?`).FindStringSubmatch(string(text))
	e, args := &eval{}, []string{words[1]}
	switch {
	case words[2] != "":
		e.question, args = "regress", append(args, "--against", words[2])
	case words[4] != "":
		e.question = "ranks"
	}
	a, err := ask(words[3], e, args)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for _, f := range a.Findings {
		if f.sized() && a.Conclusion != "cannot-tell" {
			fmt.Printf("I looked.\nANSWER: %s %g\n", f.Code, float64(f.PerStep)/1e3)
			return
		}
	}
	fmt.Printf("ANSWER: %s\n", a.Conclusion)
}

// TestAgent: an agent that repeats the program's answer is graded right, with the skill and without; one that fails
// abstains.
func TestAgent(t *testing.T) {
	if err := repository.Enter(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin, err := build(dir)
	if err != nil {
		t.Fatal(err)
	}
	list, err := evals()
	if err != nil {
		t.Fatal(err)
	}
	const every = 15
	asked := (len(list) + every - 1) / every
	for mode, want := range map[string]string{"answers": fmt.Sprintf("the skill: %d right, 0 abstained, 0 wrong", asked),
		"fails": fmt.Sprintf("the skill: 0 right, %d abstained, 0 wrong", asked)} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv("EVALS_AGENT", mode)
			var out strings.Builder
			if err := runAgent(&out, bin, os.Args[0]+" {}", t.TempDir(), every); err != nil {
				t.Fatal(err)
			}
			for _, with := range []string{"without ", "with "} {
				if !strings.Contains(out.String(), with+want) {
					t.Errorf("no %q in\n%s", with+want, out.String())
				}
			}
		})
	}
	if err := runAgent(io.Discard, bin, "agent", t.TempDir(), 1); err == nil {
		t.Error("a command without {} was run")
	}
}

// TestGeneratorsShareNothing: what makes the runs imports no analysis.
func TestGeneratorsShareNothing(t *testing.T) {
	if err := repository.Enter(); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("go", "list", "-deps", "./internal/gen/...").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range strings.Fields(string(out)) {
		rest, ours := strings.CutPrefix(p, "github.com/llmstrata/strata/")
		if ours && !strings.HasPrefix(rest, "internal/") {
			t.Errorf("a generator imports %s", rest)
		}
	}
}

// TestGradesAreStrict: another cause, another size, a cost of a healthy run and a finding above the planted one are
// wrong; silence is abstention.
func TestGradesAreStrict(t *testing.T) {
	e := eval{codes: []string{"lock"}, perStep: 100, doubts: []string{"no-graphs"}}
	lock := finding{Code: "lock", Measure: "at-most", PerStep: 105}
	for _, c := range []struct {
		name string
		e    eval
		a    answer
		want grade
	}{
		{"right", e, answer{Findings: []finding{lock}}, right},
		{"a true doubt above", e, answer{Findings: []finding{{Code: "no-graphs", Measure: "none"}, lock}}, right},
		{"a false doubt above", e, answer{Findings: []finding{{Code: "degraded", Measure: "none"}, lock}}, wrong},
		{"another cost above", e, answer{Findings: []finding{{Code: "gil", Measure: "at-most", PerStep: 200}, lock}},
			wrong},
		{"another cost below", e, answer{Findings: []finding{lock, {Code: "gil", Measure: "at-most", PerStep: 1}}},
			right},
		{"another size", e, answer{Findings: []finding{{Code: "lock", Measure: "at-most", PerStep: 120}}}, wrong},
		{"another cause", e, answer{Findings: []finding{{Code: "gil", Measure: "at-most", PerStep: 100}}}, wrong},
		{"silence", e, answer{}, abstained},
		{"cannot tell", e, answer{Conclusion: "cannot-tell", Findings: []finding{lock}}, abstained},
		{"a cost of a healthy run", eval{kind: "healthy", abstain: true}, answer{Findings: []finding{lock}}, wrong},
		{"a healthy run", eval{kind: "healthy", abstain: true}, answer{Conclusion: "healthy"}, right},
		{"a damaged run that is called healthy", eval{abstain: true}, answer{Conclusion: "healthy"}, wrong},
	} {
		if got := c.e.grade(&c.a).grade; got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
	for line, want := range map[string]grade{"ANSWER: lock 0.1": right, "thinking\nANSWER: lock 0.2\n": wrong,
		"ANSWER: gil 0.1": wrong, "ANSWER: healthy": abstained, "": abstained, "ANSWER:": abstained,
		"ANSWER: lock": wrong} {
		if got := e.gradeLine(line); got != want {
			t.Errorf("%q: %s, want %s", line, got, want)
		}
	}
}
