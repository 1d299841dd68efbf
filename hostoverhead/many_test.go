package hostoverhead_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/trace"
)

// TestManyDevices: of a hundred devices the table lists eight, with the one that decides, and says how many more
// there are.
func TestManyDevices(t *testing.T) {
	const devices = 100
	for _, s := range gen.Shapes() {
		if s.Name != "devices" {
			continue
		}
		tr, err := trace.Read(t.Context(), bytes.NewReader(s.Write(20*devices)), trace.Options{})
		if err != nil {
			t.Fatal(err)
		}
		v := judged(t, tr)
		v.Deciding = devices - 1
		var b strings.Builder
		if err := v.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		_, ranks, _ := strings.Cut(b.String(), "\nRanks\n")
		ranks, _, _ = strings.Cut(ranks, "\n\n")
		if len(v.Ranks) != devices || strings.Count(ranks, "\ndevice ") != hostoverhead.WorstRanks ||
			!strings.Contains(ranks, "\ndevice 99 ") || !strings.Contains(ranks, "\n92 more GPUs, which ") {
			t.Errorf("%d devices, want %d; table:\n%s", len(v.Ranks), devices, ranks)
		}
		return
	}
	t.Error("no shape of many devices")
}
