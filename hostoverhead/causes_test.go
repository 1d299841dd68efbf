package hostoverhead_test

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen/idle"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// leastOfGap is the share of the idle time that must be booked on the one cause that a run has.
const leastOfGap = 0.95

// idleCases calls f with every run of one known cause, as both profilers record it.
func idleCases(t *testing.T, f func(t *testing.T, c idle.Case, tr *trace.Trace)) {
	for _, c := range idle.Cases() {
		if c.Torch {
			t.Run("torch/"+c.Name, func(t *testing.T) {
				var b bytes.Buffer
				if err := c.WriteTorch(&b); err != nil {
					t.Fatal(err)
				}
				tr, err := trace.Read(t.Context(), &b, trace.Options{})
				if err != nil {
					t.Fatal(err)
				}
				f(t, c, tr)
			})
		}
		if c.Nsys {
			t.Run("nsys/"+c.Name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "run.sqlite")
				if err := c.WriteNsys(path); err != nil {
					t.Fatal(err)
				}
				f(t, c, hosttest.Open(t, path))
			})
		}
	}
}

// TestOneKnownCause: runs whose GPU is idle for one reason. The ledger books it on that reason, and the verdict is YES
// where the host is the reason and NO where it is not.
func TestOneKnownCause(t *testing.T) {
	testdata.ManyInputs(t)
	kinds := map[string]bool{}
	injected, right, sure := 0, 0, 0
	defer func() {
		t.Logf("%d of %d injected causes are right, %d wrong with high confidence", right, injected, sure)
		if injected < 58 || right < injected-3 || sure > 0 {
			t.Errorf("%d of %d injected causes are right, %d wrong with high confidence", right, injected, sure)
		}
	}()
	idleCases(t, func(t *testing.T, c idle.Case, tr *trace.Trace) {
		v := judged(t, tr)
		kinds[c.Cause] = true
		want := hostoverhead.No
		if c.Host {
			want = hostoverhead.Yes
		}
		injected++
		defer func() {
			if !t.Failed() {
				right++
			} else if v.Confidence == finding.High {
				sure++
			}
		}()
		if v.Verdict != want {
			t.Errorf("verdict %s, want %s: %s", v.Verdict, want, v.Summary)
		}
		var all, own int64
		list := v.Idle
		if c := v.Ranks[v.Deciding].Transfers; c != nil {
			list = append(slices.Clone(list), *c)
		}
		for _, x := range list {
			all += x.NS
			if x.Cause.String() == c.Cause {
				own = x.NS
			}
		}
		if c.Cause == "" {
			if share := float64(all) / float64(v.Headroom.WallNS); share > 0.02 {
				t.Errorf("idle %.3f of the time, want nearly none: %v", share, causesOf(v))
			}
			return
		}
		if float64(own) < leastOfGap*float64(all) || all == 0 {
			t.Errorf("%s has %d of %d ns, want at least %.2f: %v", c.Cause, own, all, leastOfGap, causesOf(v))
		}
	})
	if len(kinds) < 15 {
		t.Errorf("only %d causes: %v", len(kinds), kinds)
	}
}
