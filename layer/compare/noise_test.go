package compare_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/compare"
)

// repeated makes runs of one program that differ by common in all rows, and by own in each row.
func repeated(seed uint64, n int, common, own float64) *compare.Side {
	r := rand.New(rand.NewPCG(seed, 3))
	out := &compare.Side{}
	for i := range n {
		all := math.Exp(common * r.NormFloat64())
		row := map[string]float64{}
		s := side(seed*100+uint64(i), 10, func(name string, us float64) float64 {
			if _, ok := row[name]; !ok {
				row[name] = math.Exp(own * r.NormFloat64())
			}
			return us * all * row[name]
		})
		out.Runs = append(out.Runs, s.Runs[0])
	}
	return out
}

// Noise is learned from repeated runs as it is: within half of what the runs were made with, from twenty of them.
func TestLearnNoise(t *testing.T) {
	for _, c := range []struct{ common, own float64 }{{0.004, 0.002}, {0.02, 0.002}, {0.002, 0.02}} {
		n, err := compare.LearnNoise(context.Background(), repeated(1, 20, c.common, c.own), compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n.Runs != 20 || n.Common < 0.5*c.common || n.Common > 1.5*c.common+0.3*c.own+0.001 {
			t.Errorf("%+v: common %.4f", c, n.Common)
		}
		if got := n.Classes["memory"]; got < 0.5*c.own-0.0005 || got > 1.6*c.own+0.002 {
			t.Errorf("%+v: memory %.4f", c, got)
		}
	}
	if _, err := compare.LearnNoise(context.Background(), repeated(1, 4, 0.01, 0.01),
		compare.Options{}); !errors.Is(err, compare.ErrNoise) {
		t.Errorf("four runs: %v, want them refused", err)
	}
	other := repeated(1, 5, 0.01, 0.01)
	other.Runs[3].GPU = "NVIDIA B200"
	if _, err := compare.LearnNoise(context.Background(), other, compare.Options{}); !errors.Is(err, compare.ErrNoise) {
		t.Errorf("another GPU: %v, want it refused", err)
	}
}

// What was learned decides: a uniform 2% is a finding where runs differ by 0.3%, and may be noise where they differ
// by 2 %.
func TestLearnedNoiseDecides(t *testing.T) {
	a, b := side(1, 8, nil), side(2, 8, times("", 1.03))
	for _, c := range []struct {
		common float64
		want   string
	}{{0.002, "slower"}, {0.03, "inconclusive"}} {
		n, err := compare.LearnNoise(context.Background(), repeated(2, 12, c.common, 0.001), compare.Options{})
		if err != nil {
			t.Fatal(err)
		}
		n.Date = "2026-01-02"
		text, err := json.Marshal(n)
		if err != nil {
			t.Fatal(err)
		}
		saved, err := compare.ReadNoise(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		r := report(t, a, b, compare.Options{Noise: saved})
		if r.Verdict != compare.Outcome(c.want) || !strings.Contains(r.FloorFrom, "learned from 12 runs, 2026-01-02") {
			t.Errorf("runs differ by %v: %s (%s), want %s", c.common, r.Text, r.FloorFrom, c.want)
		}
	}
	for name, text := range map[string]string{"not JSON": "{", "another schema": `{"schema":"strata.baseline/2"}`,
		"no class":      `{"schema":"strata.noise/1","classes":{"heavy":0.1}}`,
		"more than all": `{"schema":"strata.noise/1","common":2}`} {
		if _, err := compare.ReadNoise(strings.NewReader(text)); !errors.Is(err, compare.ErrNoise) {
			t.Errorf("%s: %v, want it refused", name, err)
		}
	}
}
