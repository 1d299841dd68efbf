package hostoverhead_test

import (
	"math"
	"slices"
	"testing"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/hosttest"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// lateness is what raw events alone show of the idle time of a device: how much of it the next kernel had not been
// launched yet (at least, and at most, where launches are missing), and how long the window is.
type lateness struct{ least, most, window int64 }

// wayLimit is up to how long after a call its kernel was on its way rather than waiting for something.
const wayLimit = 50_000 // ns

// lateOf computes it without the ledger: gaps between activities, up to the end of the call that launches next.
func lateOf(tr *trace.Trace, device trace.DeviceID) (l lateness) {
	var kernels []trace.Event
	for e := range tr.Events(event.LaneGPU) {
		if e.Device() == device && e.Duration() > 0 {
			kernels = append(kernels, e)
		}
	}
	if len(kernels) == 0 {
		return l
	}
	end, last := kernels[0].Start(), kernels[0]
	for i, k := range kernels {
		if i > 0 && k.Start() > end {
			launch := k.Launch()
			switch call := launch.End(); {
			case !launch.Valid():
				l.most += int64(k.Start() - end)
			case k.IsReplay() && last.Launch().ID() == launch.ID():
			case call > end:
				until := min(call, k.Start())
				if k.Start()-call <= wayLimit {
					until = k.Start()
				}
				late := int64(until - end)
				l.least += late
				l.most += late
			}
		}
		if k.End() >= end {
			end, last = k.End(), k
		}
	}
	l.window = int64(end - kernels[0].Start())
	return l
}

// tableSlack is the share of the window by which the two computations may differ: only the ledger separates copies
// that delay a launch that came in time.
const tableSlack = 0.01

// checkRaw: the share of idle time in which the next work had not been launched, from raw events, agrees with the
// ledger, and with the answer. -v prints the table.
func checkRaw(t *testing.T, tr *trace.Trace, v *hostoverhead.Verdict) {
	t.Helper()
	for _, r := range v.Ranks {
		var host, other int64
		for _, c := range r.Idle {
			switch c.Group {
			case finding.HostWork, finding.HostWaiting:
				host += c.NS
			case finding.RequestsGroup, finding.ProfilerGroup, finding.UnknownGroup, finding.RanksGroup:
				other += c.NS
			}
		}
		if c := r.Transfers; c != nil {
			var ns, steps int64
			for _, n := range c.Names {
				ns, steps = ns+n.NS, steps+n.StepsNS
			}
			if ns != c.NS || steps != c.StepsNS {
				t.Errorf("device %d: copies by name add up to %d and %d, all are %d and %d", r.Device, ns, steps, c.NS,
					c.StepsNS)
			}
		}
		raw := lateOf(tr, r.Device)
		slack := int64(tableSlack * float64(raw.window))
		t.Logf("device %d: late %.1f%% to %.1f%%, ledger: host %.1f%%, other or unknown %.1f%%: %s (share of the %s %v)",
			r.Device, share(raw.least, raw.window), share(raw.most, raw.window), share(host, raw.window),
			share(other, raw.window), r.Verdict, v.Basis, r.Headroom.Share)
		if raw.window != r.WindowNS || host > raw.most+slack || host+other < raw.least-slack {
			t.Errorf("device %d: raw events %+v, ledger: host %d, other or unknown %d of %d", r.Device, raw, host,
				other, r.WindowNS)
		}
		stageSays := slices.ContainsFunc(r.Stages, func(s hostoverhead.StageVerdict) bool { return s.Verdict == hostoverhead.Yes })
		if r.Verdict == hostoverhead.Yes && !stageSays && share(raw.most+slack, r.Headroom.WallNS) < 100*v.Threshold {
			t.Errorf("device %d: YES, but at most %.1f%% can be the host's", r.Device,
				share(raw.most, r.Headroom.WallNS))
		}
		if r.Verdict == hostoverhead.No && share(raw.least-other-slack, raw.window) >= 100*v.Threshold {
			t.Errorf("device %d: NO, but at least %.1f%% are the host's", r.Device, share(raw.least-other, raw.window))
		}
	}
}

// TestSharesAreOfOneGPU: a run on two GPUs that are idle 9.7 and 11.5% of their time. What the host costs cannot be
// more than that on either; 18.7%, without what is queued, is what both lose together, of the time of one.
func TestSharesAreOfOneGPU(t *testing.T) {
	v := judged(t, hosttest.Open(t, testdata.Shared(t, "traces/nsys/torchrun-2gpu-hopper.sqlite")))
	if len(v.Ranks) != 2 || v.Verdict != hostoverhead.No {
		t.Fatalf("%d devices, %s", len(v.Ranks), v.Verdict)
	}
	both := 0.0
	for i, want := range []float64{9.7, 11.5} {
		r := &v.Ranks[i]
		// the published figure counts copies as idle time
		idle := share(r.Headroom.IdleNS+r.Transfers.StepsNS, r.WindowNS)
		if math.Abs(idle-want) > 0.05 || share(r.Headroom.HostNS, r.WindowNS) > idle {
			t.Errorf("device %d: idle %.2f%%, want %.1f, host %v", r.Device, idle, want, r.Headroom.Share)
		}
		for _, c := range r.Idle {
			if c.Group != finding.DispatchGroup {
				both += share(c.NS, r.WindowNS)
			}
		}
		both += share(r.Transfers.NS, r.WindowNS)
	}
	if math.Abs(both-18.7) > 0.1 {
		t.Errorf("both together %.2f %%", both)
	}
}

// TestCopiesSayWhatTheyMove: weights that are kept on the host cross the bus in each step.
func TestCopiesSayWhatTheyMove(t *testing.T) {
	v := judged(t, hosttest.Open(t, testdata.Shared(t, "traces/nsys/pytorch-2gpu-h100.sqlite")))
	i := slices.IndexFunc(v.Ranks[0].Findings, func(f finding.Finding) bool { return f.Kind == finding.ExposedCopies })
	const want = "Largest part: Memcpy HtoD (Pinned -> Device) (97.9%), 25.5 GB in all at 27.7 GB/s."
	if i < 0 || v.Ranks[0].Findings[i].Evidence != want {
		t.Errorf("findings %+v, want %s", v.Ranks[0].Findings, want)
	}
}

func share(part, whole int64) float64 { return 100 * float64(part) / float64(max(whole, 1)) }

// A frame is inside the operation in which it took longest, wherever it came first, and not inside another call of
// the function that runs it: calls of modules are everywhere, also inside each other.
func TestFramesAreInsideWhereTheyTookLongest(t *testing.T) {
	tr, err := trace.Open(t.Context(), testdata.Shared(t, "traces/torch/hf-vit-nsfw-eager-h100.json.gz"),
		trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, err := layer.Analyze(t.Context(), tr, layer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := hostoverhead.Series(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	longest := map[string]string{}
	for _, op := range h.Operations {
		longest[op.Name] = op.Longest
	}
	for name, want := range map[string]string{"nn.Module: ViTSdpaSelfAttention_3": "nn.Module: ViTSdpaAttention_3",
		"nn.Module: ViTSdpaAttention_3": "nn.Module: ViTLayer_3", "nn.Module: ViTLayer_3": "nn.Module: ViTEncoder_0",
		"<built-in function scaled_dot_product_attention>": "nn.Module: ViTSdpaSelfAttention_0"} {
		if longest[name] != want {
			t.Errorf("%s took longest in %q, want %s", name, longest[name], want)
		}
	}
}
