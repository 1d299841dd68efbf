package hardware

import (
	"fmt"
	"math"
	"strings"
	"time"
)

const (
	// sameBandwidth is how far the bandwidth that a driver reports may be from a row's for both to be the same
	// memory: bus figures are up to 3% above data sheets, and other memories of one name differ by a tenth or more.
	sameBandwidth = 0.05
	// overclocked is how far above the highest known clock a measured one may be: samples and tables are rounded.
	overclocked = 1.02
)

// reported puts what the driver said of the very GPU in place of what the table knows. A GPU that the table does not
// know has at least the bandwidth of its memory then.
func reported(g *GPU, why string, ok bool, d Device) (*GPU, string, bool) {
	if g != nil && g.Vendor == vendorAMD || strings.HasPrefix(d.Name, "AMD") {
		// The clock that ROCm gives of HBM3 is a quarter of its data rate, not half: 2,662 GB/s on an MI300X of 5,300.
		d.Bandwidth = 0
	}
	if d.Bandwidth <= 0 && d.MaxClock <= 0 || g != nil && g.Part < 1 {
		return g, why, ok // figures of a whole GPU say nothing of a part
	}
	if g == nil {
		if d.Bandwidth <= 0 || d.Name == "" {
			return g, why, ok
		}
		return &GPU{ID: d.Name, Units: d.Units, Memory: d.Memory, FLOP: map[string]Figure{},
				Bandwidth: Figure{Value: d.Bandwidth}, MaxClock: Figure{Value: d.MaxClock}, Part: 1},
			why + "; its driver reports the memory's bandwidth, and no arithmetic", true
	}
	s := *g
	if d.Bandwidth > 0 {
		if s.BusBandwidth = (Figure{Value: d.Bandwidth}); !s.Bandwidth.Known() ||
			math.Abs(d.Bandwidth/s.Bandwidth.Value-1) > sameBandwidth {
			s.Bandwidth = s.BusBandwidth
			why += fmt.Sprintf("; its driver reports %.0f GB/s", d.Bandwidth/giga)
		}
	}
	if d.MaxClock > 0 {
		s.MaxClock = Figure{Value: d.MaxClock}
	}
	return &s, why, ok
}

// atClock returns the GPU with the arithmetic that it can do at a measured clock in MHz. It reports false where the
// clock of the table's figures is not known, or the measured one cannot be this GPU's.
func (g *GPU) atClock(mhz float64) (*GPU, bool) {
	if !g.Clock.Known() || mhz <= 0 || mhz > overclocked*max(g.Clock.Value, g.MaxClock.Value) {
		return g, false
	}
	s := *g
	by := mhz / g.Clock.Value
	s.FLOP = make(map[string]Figure, len(g.FLOP))
	for dtype, f := range g.FLOP {
		s.FLOP[dtype] = Figure{f.Value * by, f.Doubtful}
	}
	s.Clock = Figure{Value: mhz}
	return &s, true
}

// meshPeers is how many other GPUs one of a fully connected server reaches, each over a link of its own.
const meshPeers = 7

// LinkOf is what a GPU sends to the others of a group of so many ranks, in bytes a second. Behind a switch that is
// all of its links whatever the group; where eight GPUs are connected one to one, as MI300X and its successors are,
// each other rank adds one link.
func (g *GPU) LinkOf(ranks int) Figure {
	if !architectures[g.Arch].mesh || ranks < 2 || ranks > meshPeers {
		return g.Link
	}
	return Figure{g.Link.Value * float64(ranks-1) / meshPeers, g.Link.Doubtful}
}

// architectures say how GPUs of a server exchange data: the time of the fastest all-reduce of a few bytes among eight
// of them that was published, and whether they are connected one to one. Fewer GPUs were published no faster.
var architectures = map[string]struct {
	took   time.Duration
	source string
	mesh   bool
}{
	"sm90":  {2300 * time.Nanosecond, "NVIDIA/nccl issue 1940: H200 and H800, 8 bytes", false},
	"sm100": {3000 * time.Nanosecond, "NVIDIA/nccl issue 1940: B200, 8 bytes", false},
	"cdna3": {5000 * time.Nanosecond, "Epliz/muiLLM pull request 6: MI300X", true},
	"cdna4": {6300 * time.Nanosecond, "vllm-project/vllm pull request 39080: MI355X, 24 KiB", true},
}

// Latency is how long the fastest published all-reduce takes on such a GPU, however little it moves; 0 where nothing
// was published.
func (g *GPU) Latency() time.Duration { return architectures[g.Arch].took }

// LatencySource says who published [GPU.Latency].
func (g *GPU) LatencySource() string { return architectures[g.Arch].source }
