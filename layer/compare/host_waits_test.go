package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/layer/finding"
)

// TestHostWithoutItsWaits: an operation on both sides counts without its waits for the GPU, which grow where the host
// is done earlier; a new one counts with all its time, and so does one whose waits one side does not know.
func TestHostWithoutItsWaits(t *testing.T) {
	host := func(us, wait float64, names ...string) *Host {
		h := server(20, names[0], us, 1, 0, false)
		for _, name := range names[1:] {
			h.Operations = append(h.Operations, server(20, name, us, 1, 0, false).Operations...)
		}
		for i := range h.Operations {
			if wait >= 0 {
				h.Operations[i].Waits = slices.Repeat([]time.Duration{time.Duration(1e3 * wait)}, 20)
			}
		}
		return h
	}
	for name, c := range map[string]struct {
		a, b *Host
		want string
	}{
		"more waiting":       {host(500, 300, "op"), host(900, 700, "op"), "op 200µs 200µs false "},
		"more work":          {host(500, 300, "op"), host(900, 300, "op"), "op 200µs 600µs true "},
		"a new one":          {host(500, 300, "op"), host(500, 300, "op", "new"), "new 0s 500µs true new"},
		"a removed one":      {host(500, 300, "op", "old"), host(500, 300, "op"), "old 500µs 0s true removed"},
		"unknown on one":     {host(500, -1, "op"), host(900, 700, "op"), "op 500µs 900µs true "},
		"unknown, no change": {host(500, -1, "op"), host(500, 300, "op"), "op 500µs 500µs false "},
	} {
		r := CompareHost([]*Host{c.a}, []*Host{c.b}, Options{}).Rows[0]
		if got := fmt.Sprint(r.Name, " ", r.A, " ", r.B, " ", r.Significant, " ", string(r.Status)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	part := host(500, 300, "op").only(map[int]bool{3: true, 5: true})
	if got := fmt.Sprint(part.Operations[0].Steps, part.Operations[0].Waits); got != "[500µs 500µs] [300µs 300µs]" {
		t.Errorf("of two passes: %s", got)
	}
	bad := host(500, 300, "op")
	for want, waits := range map[string][]time.Duration{`operation "op" has 1 waits for 20 steps`: {1},
		`operation "op" has a wait of -1 ns`: slices.Repeat([]time.Duration{-1}, 20)} {
		bad.Operations[0].Waits = waits
		if err := bad.check(); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestHostOfOneSide: where one side records no operation of a kind, those of the other are not new.
func TestHostOfOneSide(t *testing.T) {
	none := server(20, "op", 500, 1, 0, false)
	none.Operations = nil
	for name, c := range map[string]struct {
		a, b *Host
		rows int
		want string
	}{
		"none on A": {none, servers(3, 1), 0, "only one side recorded operations of the kind range"},
		"none on B": {servers(3, 1), none, 0, "only one side recorded operations of the kind range"},
		"one on A":  {servers(1, 1), servers(3, 1), 3, ""},
		"none":      {none, none, 0, ""},
	} {
		r := CompareHost([]*Host{c.a}, []*Host{c.b}, Options{})
		if got := r.OneSided(); len(r.Rows) != c.rows || !strings.HasPrefix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%s: %d rows, %q", name, len(r.Rows), got)
		}
	}
}

// TestMoreLaunchesAreNoClock: one layer more is no lower clock, though all its rows take the same factor; a clock is
// one where all kernels run as often.
func TestMoreLaunchesAreNoClock(t *testing.T) {
	layers := func(n int, factor float64) *Side {
		run := Run{GPU: "a", Health: "ok"}
		times := make([]time.Duration, 8)
		for i := range times {
			run.Parts = append(run.Parts, MadePart(fmt.Sprint("row", i), fmt.Sprint("k", i), Memory))
			times[i] = time.Duration(factor * float64(n) * 1e5)
		}
		for i := range 20 {
			run.AddPass(Pass{Index: i, Stage: "decode", Batch: 8, Tokens: 8, Graph: 1}, n, times...)
		}
		return &Side{Runs: []Run{run}}
	}
	for name, c := range map[string]struct {
		b    *Side
		want bool
	}{"one layer more": {layers(17, 1), false}, "a lower clock": {layers(16, 17./16), true}} {
		r, err := Compare(t.Context(), layers(16, 1), c.b, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(r.Findings, func(f finding.Finding) bool {
			return f.Kind == finding.UniformChange
		}); got != c.want {
			t.Errorf("%s: all kernels changed by one factor: %v; %s", name, got, r.First.Evidence)
		}
	}
}
