// Command evals grades what `strata answer` says about runs in which one thing is planted, or nothing: the planted
// cause has to be the first finding with a size, the size within a tenth of the truth, and no false finding may be
// above it; of a healthy run and of a damaged one no cost may be named. The runs are made by generators that share no
// code with the analyses. No model is needed.
//
//	go run -C internal/tools ./evals -o docs/evals.md
//	go run -C internal/tools ./evals -agent 'my-agent --prompt-file {}'     # your own agent, with the skill and without
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/tools/repository"
)

func main() {
	out := flag.String("o", "", "write the report to this `FILE`; empty: to stdout")
	agent := flag.String("agent", "", "`COMMAND` of an agent, {} where the file with the prompt goes; its last line "+
		"has to begin with ANSWER:")
	every := flag.Int("every", 1, "with -agent: ask about every `N`th case only")
	flag.Parse()
	repository.Run("evals", func() error { return evaluate(*out, *agent, *every) })
}

func evaluate(out, agent string, every int) error {
	dir, err := os.MkdirTemp("", "evals-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	bin, err := build(dir)
	if err != nil {
		return err
	}
	if agent != "" {
		return runAgent(os.Stdout, bin, agent, dir, every)
	}
	results, err := all(bin, dir)
	if err != nil {
		return err
	}
	if out == "" {
		_, err := os.Stdout.WriteString(report(results) + "\n" + caseList(results))
		return err
	}
	if err := os.WriteFile(out, []byte(report(results)), 0o666); err != nil {
		return err
	}
	return os.WriteFile(caseFile, []byte(caseList(results)), 0o666)
}

// caseFile lists the cases of the committed page.
var caseFile = filepath.Join("internal", "tools", "evals", "cases.golden")

// build makes the program that is graded.
func build(dir string) (string, error) {
	bin := filepath.Join(dir, "strata")
	if text, err := exec.Command("go", "build", "-o", bin, "./examples/strata").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, text)
	}
	return bin, nil
}

// answer is what is graded of the document strata.answer.
type answer struct {
	Conclusion string    `json:"conclusion"`
	Why        string    `json:"why_unknown"`
	Findings   []finding `json:"findings"`
	Ranks      struct {
		Straggler string `json:"straggler"`
		Rows      []struct {
			Waiting time.Duration `json:"waiting_ns"`
		} `json:"rows"`
	} `json:"ranks"`
	code int // exit code
}

type finding struct {
	Kind    string        `json:"kind"`
	Code    string        `json:"code"`
	Text    string        `json:"text"`
	Measure string        `json:"measure"`
	PerStep time.Duration `json:"per_step_ns"`
}

// sized reports whether a finding is about time that is lost: what has no floor may be as fast as the GPU allows.
func (f *finding) sized() bool { return f.Measure != "none" && f.Kind != "no-floor" }

// grade is what became of a case.
type grade string

const (
	right     grade = "right"
	abstained grade = "abstained" // gives no answer, where there is one
	wrong     grade = "wrong"     // names something that is not so
)

// result is a graded case.
type result struct {
	*eval
	grade grade
	said  string
	size  time.Duration
}

// all grades all cases.
func all(bin, dir string) ([]result, error) {
	var out []result
	list, err := evals()
	if err != nil {
		return nil, err
	}
	for i := range list {
		e := &list[i]
		args, err := prepare(e, dir, i)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", e.kind, e.name, err)
		}
		a, err := ask(bin, e, args)
		if err != nil {
			return nil, fmt.Errorf("%s, %s: %w", e.kind, e.name, err)
		}
		r := e.grade(a)
		// the same in every run
		r.said = strings.ReplaceAll(r.said, filepath.Join(dir, fmt.Sprint(i))+string(filepath.Separator), "")
		out = append(out, r)
	}
	return out, nil
}

// prepare writes the files of a case.
func prepare(e *eval, dir string, i int) ([]string, error) {
	sub := filepath.Join(dir, fmt.Sprint(i))
	if err := os.Mkdir(sub, 0o777); err != nil {
		return nil, err
	}
	return e.files(sub)
}

// ask runs strata answer. A file that it refuses is an answer, too: it has no findings.
func ask(bin string, e *eval, args []string) (*answer, error) {
	args = append([]string{"answer", "--format", "json", "--progress=false"}, args...)
	if e.question != "" {
		args = append(args, "--question", e.question)
	}
	cmd := exec.Command(bin, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	var a answer
	if exit != nil {
		a.code = exit.ExitCode()
	}
	const failed, usage = 1, 2
	switch {
	case a.code == failed && stdout.Len() == 0:
		a.Conclusion, a.Why = "cannot-tell", strings.TrimSpace(stderr.String())
		return &a, nil
	case a.code == usage:
		return nil, errors.New(stderr.String())
	}
	return &a, json.Unmarshal(stdout.Bytes(), &a)
}

// tolerance is how far a size may be from the truth.
const tolerance = 0.1

// grade holds an answer against the truth.
func (e *eval) grade(a *answer) result {
	r := result{eval: e, grade: right, said: a.Conclusion}
	if a.Why != "" {
		r.said += ": " + a.Why
	}
	first := slices.IndexFunc(a.Findings, func(f finding) bool { return slices.Contains(e.codes, f.Code) })
	var above []finding
	for i, f := range a.Findings {
		if i != first && (first < 0 || i < first) && (f.sized() || !slices.Contains(e.doubts, f.Code)) {
			above = append(above, f)
		}
	}
	switch {
	case e.abstain:
		if i := slices.IndexFunc(a.Findings, func(f finding) bool {
			return f.sized() && f.Measure != "taken" &&
				!slices.Contains(e.codes, f.Code)
		}); i >= 0 && a.Conclusion != "cannot-tell" {
			r.grade, r.said = wrong, a.Findings[i].Text
		}
		if a.Conclusion == "healthy" && e.kind != "healthy" {
			r.grade = wrong // nothing shows that
		}
		return r
	case a.Conclusion == "cannot-tell":
		r.grade = abstained
		return r
	case first < 0 && len(above) == 0:
		r.grade = abstained
		return r
	case first < 0, len(above) > 0:
		r.grade, r.said = wrong, above[0].Text
		return r
	}
	f := a.Findings[first]
	r.said, r.size = f.Text, f.PerStep
	if e.perStep > 0 && math.Abs(float64(f.PerStep-e.perStep)) > tolerance*float64(e.perStep) {
		r.grade = wrong
	}
	if e.straggler != "" && !strings.Contains(a.Ranks.Straggler, e.straggler) {
		r.grade, r.said = wrong, fmt.Sprintf("straggler %q", a.Ranks.Straggler)
	}
	var most time.Duration
	for _, w := range a.Ranks.Rows {
		most = max(most, w.Waiting)
	}
	if e.waiting > 0 && math.Abs(float64(most-e.waiting)) > tolerance*float64(e.waiting) {
		r.grade, r.said = wrong, fmt.Sprintf("waits %s, planted %s", most, e.waiting)
	}
	return r
}

// report is docs/evals.md.
func report(results []result) string {
	var b strings.Builder
	b.WriteString(`# Evals

Written by ` + "`go run -C internal/tools ./evals -o docs/evals.md`" + `. Each run has one planted problem, or none. The answer graded is
the one of ` + "`strata answer`" + `; no language model is involved. The generators of the runs share no code with the analyses.

* Right: the planted cause is the first finding with a size, the size is within 10% of the truth, and no false finding precedes it.
  For healthy and damaged runs: no cost is named.
* Wrong: a problem is named that the run does not have.

`)
	type sum struct {
		cases, right, abstained, wrong int
		by                             [sources]int
	}
	kinds := map[string]*sum{}
	var order []string
	planted, total := sum{}, sum{}
	for _, r := range results {
		s := kinds[r.kind]
		if s == nil {
			s = &sum{}
			kinds[r.kind] = s
			order = append(order, r.kind)
		}
		to := []*sum{s, &total}
		if !r.abstain {
			to = append(to, &planted)
		}
		for _, s := range to {
			s.cases++
			s.by[r.from]++
			switch r.grade {
			case right:
				s.right++
			case abstained:
				s.abstained++
			case wrong:
				s.wrong++
			}
		}
	}
	fmt.Fprintf(&b, "%d cases of %d kinds: %d right, %d abstained, %d wrong. Planted: %d of %d right; healthy, damaged "+
		"or of the wrong stage: %d of %d abstain.\n\n",
		total.cases, len(order), total.right, total.abstained, total.wrong, planted.right, planted.cases,
		total.right-planted.right, total.cases-planted.cases)
	several := 0
	for _, s := range kinds {
		if s.by[byLoop] > 0 && s.by[byModel] > 0 {
			several++
		}
	}
	fmt.Fprintf(&b, "Two independent generators plant %d of the kinds: a server's event loop (also as Nsight Systems "+
		"exports) and a walk through a model's\n"+
		"modules. One generator plants each of the others. `internal/tools/evals/cases.golden` lists all cases.\n\n", several)
	b.WriteString("| kind | cases |")
	for s := range sources {
		fmt.Fprintf(&b, " by %s |", s)
	}
	b.WriteString(" right | abstained | wrong |\n|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, k := range order {
		s := kinds[k]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d | %d | %d | %d |\n", k, s.cases, s.by[byLoop], s.by[byModel],
			s.by[byOperators], s.right, s.abstained, s.wrong)
	}
	return b.String()
}

// caseList is one line a case: its kind, generator and name, what was planted and found, the grade and the answer.
func caseList(results []result) string {
	var b strings.Builder
	for _, r := range results {
		fmt.Fprintf(&b, "%s, %s: %s: planted %s, found %s: %s: %s\n", r.kind, r.from, r.name, micros(r.perStep),
			micros(r.size), r.grade, strings.ReplaceAll(r.said, "\n", " "))
	}
	return b.String()
}

func micros(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f µs", float64(d)/float64(time.Microsecond))
}
