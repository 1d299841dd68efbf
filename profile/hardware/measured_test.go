package hardware_test

import (
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/profile/hardware"
)

// What the driver reports of the very GPU comes before the table: bandwidth that is another memory's, the highest
// clock; a GPU that the table does not know has floors of memory, a slice keeps its scaled figures.
func TestReportedFigures(t *testing.T) {
	h100 := hardware.Device{Name: "NVIDIA H100 80GB HBM3", Memory: 85018279936, Units: 132}
	for name, c := range map[string]struct {
		change    func(*hardware.Device)
		bandwidth float64
		maxClock  float64
	}{
		"nothing":                 {func(*hardware.Device) {}, 3350e9, 1980},
		"the bus of that memory":  {func(d *hardware.Device) { d.Bandwidth = 1.049 * 3350e9 }, 3350e9, 1980},
		"another memory":          {func(d *hardware.Device) { d.Bandwidth = 1.051 * 3350e9 }, 1.051 * 3350e9, 1980},
		"a slower one":            {func(d *hardware.Device) { d.Bandwidth = 0.949 * 3350e9 }, 0.949 * 3350e9, 1980},
		"a locked clock":          {func(d *hardware.Device) { d.MaxClock = 1755 }, 3350e9, 1755},
		"a slice, of a whole GPU": {func(d *hardware.Device) { d.Units, d.Bandwidth = 60, 3000e9 }, 3350e9, 1980},
	} {
		d := h100
		c.change(&d)
		g, why, ok := hardware.Find(hardware.Table(), d)
		if !ok || g.Bandwidth.Value != c.bandwidth || g.MaxClock.Value != c.maxClock {
			t.Errorf("%s: %v, %v GB/s, %v MHz (%s); want %v and %v", name, ok, g.Bandwidth.Value/1e9, g.MaxClock.Value,
				why, c.bandwidth/1e9, c.maxClock)
		}
	}
	g, why, ok := hardware.Find(hardware.Table(), hardware.Device{Name: "NVIDIA X900", Memory: 1 << 37, Units: 200,
		Bandwidth: 9e12})
	if !ok || g.ID != "NVIDIA X900" || g.Bandwidth.Value != 9e12 || g.FLOP["bf16"].Known() ||
		!strings.Contains(why, "not in the table") {
		t.Errorf("an unknown GPU: %+v, %q, %v", g, why, ok)
	}
	if g, _, ok := hardware.Find(hardware.Table(), hardware.Device{Name: "NVIDIA X900", MaxClock: 2000}); ok ||
		g != nil {
		t.Errorf("an unknown GPU of which the clock alone is known: %+v", g)
	}
}

// TestVendorIsNoName: a trace that has the vendor's name only is found by compute units and memory, and what ROCm says
// of the memory is not believed: of an MI300X it is half.
func TestVendorIsNoName(t *testing.T) {
	for _, name := range []string{"AMD", "AMD Instinct MI300X"} {
		g, why, ok := hardware.Find(hardware.Table(),
			hardware.Device{Name: name, Memory: 206141652992, Units: 304, Bandwidth: 2662e9})
		if !ok || g.ID != "mi300x" || g.Bandwidth.Value != 5300e9 || strings.Contains(why, "reports") {
			t.Errorf("%s: %+v, %s", name, g, why)
		}
	}
	if g, why, ok := hardware.Find(hardware.Table(), hardware.Device{Name: "AMD", Units: 1, Memory: 1 << 30,
		Bandwidth: 2662e9}); ok || g != nil {
		t.Errorf("an unknown one: %+v, %s", g, why)
	}
}

// A measured clock scales the arithmetic, unless it cannot be this GPU's; what no kernel can beat stays.
func TestMeasuredClock(t *testing.T) {
	device := hardware.Device{Name: "NVIDIA H100 80GB HBM3", Memory: 85018279936, Units: 132}
	g, unmeasured, ok := hardware.Find(hardware.Table(), device)
	if !ok || g.ID != "h100-sxm-80" {
		t.Fatal("no H100")
	}
	for mhz, want := range map[float64]bool{0: false, -1: false, 915: true, 1830: true, 1980 * 1.02: true,
		1980*1.02 + 1: false} {
		device.Clock = mhz
		at, why, _ := hardware.Find(hardware.Table(), device)
		if got := strings.Contains(why, "measured"); got != want || !strings.HasPrefix(why, unmeasured) {
			t.Errorf("%v MHz: %t, want %t: %s", mhz, got, want, why)
			continue
		}
		if !want {
			if at.Clock != g.Clock || at.FLOP["bf16"] != g.FLOP["bf16"] {
				t.Errorf("%v MHz: %v at %v", mhz, at.FLOP["bf16"], at.Clock)
			}
			continue
		}
		if got, want := at.FLOP["bf16"].Value, g.FLOP["bf16"].Value*mhz/1830; got/want > 1.0001 || got/want < 0.9999 ||
			at.Bandwidth != g.Bandwidth {
			t.Errorf("%v MHz: %v FLOP/s, want %v", mhz, got, want)
		}
		if most, want := at.FLOP["bf16"].Value*boost(at), g.FLOP["bf16"].Value*boost(g); mhz < 1980 &&
			(most/want > 1.0001 || most/want < 0.9999) {
			t.Errorf("%v MHz: at most %v FLOP/s, want %v as before", mhz, most, want)
		}
	}
	doubtful, why, ok := hardware.Find(hardware.Table(),
		hardware.Device{Name: "NVIDIA H100", Memory: 102085492736, Units: 132, Clock: 1500})
	if !ok || doubtful.ID != "h100-96-meta" || doubtful.Clock.Known() || strings.Contains(why, "measured") {
		t.Errorf("a doubtful clock was scaled: %+v, %s", doubtful, why)
	}
}

// A GPU of a mesh reaches each other rank over one link; with a switch all links serve any group.
func TestLinkOfAGroup(t *testing.T) {
	for _, c := range []struct {
		gpu   string
		ranks int
		want  float64
	}{{"mi300x", 2, 64e9}, {"mi300x", 4, 192e9}, {"mi300x", 7, 384e9}, {"mi300x", 8, 448e9}, {"mi300x", 16, 448e9},
		{"mi300x", 1, 448e9}, {"h100-sxm-80", 2, 450e9}, {"mi210", 2, 150e9}} {
		g, ok := hardware.Named(hardware.Table(), c.gpu)
		if !ok {
			t.Fatalf("no %s", c.gpu)
		}
		if got := g.LinkOf(c.ranks).Value; got < 0.999*c.want || got > 1.001*c.want {
			t.Errorf("%s, %d ranks: %v B/s, want %v", c.gpu, c.ranks, got, c.want)
		}
	}
}

// TestLatencies: each published latency is that of an architecture of the table, with its source.
func TestLatencies(t *testing.T) {
	of := map[string]bool{}
	for _, g := range hardware.Table() {
		if g.Latency() > 0 {
			of[g.Arch] = true
			if g.Latency() > 10*time.Microsecond || g.LatencySource() == "" {
				t.Errorf("%s: %v by %q", g.ID, g.Latency(), g.LatencySource())
			}
		}
	}
	if len(of) != hardware.NumLatencies {
		t.Errorf("latencies of %v, want %d architectures", of, hardware.NumLatencies)
	}
}
