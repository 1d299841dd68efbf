package hostoverhead_test

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
)

// TestDistilledTracesEqualWhatIsKnown: in a fresh clone, every device of a real
// trace is there with all its kernels, and busy time is their union.
func TestDistilledTracesEqualWhatIsKnown(t *testing.T) {
	for _, k := range testdata.DistilledTraces(t) {
		t.Run(k.Name, func(t *testing.T) {
			path := testdata.Distilled(t, k.Name)
			var tr *trace.Trace
			if strings.HasSuffix(path, ".sqlite") {
				tr = openExport(t, path)
			} else {
				var err error
				if tr, err = trace.Open(t.Context(), path, trace.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			v, err := hostoverhead.Detect(t.Context(), tr)
			if err != nil {
				t.Fatal(err)
			}
			if len(v.Devices) != len(k.Devices) {
				t.Fatalf("%d devices, want %d", len(v.Devices), len(k.Devices))
			}
			for i, want := range k.Devices {
				got := v.Devices[i]
				if int(got.Device) != want.Device || got.Metrics.Kernels != want.Kernels {
					t.Errorf("device %d with %d kernels, want device %d with %d", got.Device, got.Metrics.Kernels, want.Device, want.Kernels)
				}
				if got.Metrics.BusyNS <= 0 || got.Metrics.BusyNS > want.KernelNS {
					t.Errorf("device %d: busy %d ns, want more than 0 and no more than the kernels' sum, %d", got.Device, got.Metrics.BusyNS, want.KernelNS)
				}
			}
		})
	}
}
