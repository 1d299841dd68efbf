package compare

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/layer"
)

// ranked is a run of two ranks: rank 1 works so many times as long as rank 0.
func ranked(times float64) *Side {
	var files []Run
	for rank, f := range []float64{1, times} {
		r := plain(f).Runs[0]
		r.Rank, r.Trace = rank, string(rune('a'+rank))
		files = append(files, r)
	}
	return sideOf(NewRun(files))
}

// The slowest rank of each side represents the run, each rank is compared with its own, and the order of the files
// decides nothing.
func TestRanks(t *testing.T) {
	a, b := ranked(1.02), ranked(1.3)
	r := compareSides(t, a, b)
	if r.Verdict != Slower || r.A.Rank != 1 || r.B.Rank != 1 || len(r.Ranks) != 2 {
		t.Fatalf("%s, ranks %d and %d, %d compared", r.Text, r.A.Rank, r.B.Rank, len(r.Ranks))
	}
	if r.Ranks[0].Verdict != Same || r.Ranks[0].Delta != 0 || r.Ranks[1].Verdict != Slower ||
		r.Ranks[1].Delta != r.Delta {
		t.Errorf("ranks %+v", r.Ranks)
	}
	if notes := strings.Join(r.Notes, "\n"); !strings.Contains(notes,
		"2 ranks are on both sides; compared is the slowest, rank 1 of A and rank 1 of B; others differ: rank 0: same") {
		t.Errorf("notes %s", notes)
	}
	one := a.Runs[0]
	one.Ranks = nil
	again := NewRun([]Run{one, a.Runs[0].Ranks[0]})
	if s := compareSides(t, sideOf(again), b); s.Delta != r.Delta || s.Text != r.Text {
		t.Errorf("files in another order: %s", s.Text)
	}
	var buf bytes.Buffer
	if err := a.Write(&buf); err != nil {
		t.Fatal(err)
	}
	saved, err := ReadSide(&buf)
	if err != nil || len(saved.Runs[0].Ranks) != 1 {
		t.Fatalf("%v, %d ranks", err, len(saved.Runs[0].Ranks))
	}
	saved.Runs[0].Ranks[0].Passes[0].Wall++
	buf.Reset()
	if err := saved.Write(&buf); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadSide(&buf); err == nil {
		t.Error("a rank whose rows do not add up is taken")
	}
	if r := compareSides(t, ranked(1.3), sideOf(plain(1.3).Runs[0])); r.Verdict != Same || len(r.Ranks) != 1 {
		t.Errorf("one rank of the other side: %s, %d ranks", r.Text, len(r.Ranks))
	}
}

// Files of one rank are one run with the passes of all, each with its rows and kernels.
func TestFilesOfOneRank(t *testing.T) {
	decode := runOf(repeated(6, use1{"attention", 10, 100}, use1{"down_proj", 10, 300})...)
	prefill := runOf(repeated(3, use1{"rope", 10, 40}, use1{"attention", 10, 900})...)
	decode.Trace, prefill.Trace = "decode", "prefill"
	for i := range prefill.Passes {
		prefill.Passes[i].Stage = layer.StagePrefill
	}
	for _, r := range []*Run{&decode, &prefill} {
		r.Host = &Host{}
		for i := range r.Passes {
			r.Host.Passes, r.Host.Walls = append(r.Host.Passes, i), append(r.Host.Walls, time.Millisecond)
		}
		r.Host.Operations = []Operation{{Kind: "range", Name: r.Trace, Class: "host", Count: 1, Steps: r.Host.Walls},
			{Kind: "range", Name: "both", Class: "host", Count: 2, Steps: r.Host.Walls}}
	}
	run := NewRun([]Run{prefill, decode})
	if err := run.check(); err != nil {
		t.Fatal(err)
	}
	if err := run.Host.check(); err != nil || len(run.Ranks) != 0 || len(run.Passes) != 9 ||
		run.Passes[8].Trace != "prefill" || run.Host.Passes[8] != run.Passes[8].Index {
		t.Fatalf("%v, %d ranks, %d passes, %+v", err, len(run.Ranks), len(run.Passes), run.Host)
	}
	for _, op := range run.Host.Operations {
		if want := map[string]float64{"decode": 6. / 9, "prefill": 3. / 9, "both": 2}[op.Name]; op.Count < want-1e-9 ||
			op.Count > want+1e-9 {
			t.Errorf("%s occurs %v times a step, want %v", op.Name, op.Count, want)
		}
	}
	for _, one := range []Run{decode, prefill} {
		stage := one.Passes[0].Stage
		r, err := Compare(t.Context(), sideOf(run), sideOf(one), Options{Stages: []layer.Stage{stage}})
		if err != nil {
			t.Fatal(err)
		}
		if r.Verdict != Same || r.A.Stage != stage || r.A.Passes != len(one.Passes) || r.A.Trace != one.Trace ||
			r.Delta != 0 {
			t.Errorf("%s: %+v", r.Text, r.A)
		}
	}
}
