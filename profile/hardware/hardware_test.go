package hardware_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/profile/hardware"
)

func ExampleFind() {
	g, why, ok := hardware.Find(hardware.Table(), hardware.Device{Name: "NVIDIA H100 80GB HBM3", Memory: 85018279936,
		Units: 132})
	fmt.Println(ok, why)
	fmt.Printf("%s: %.0f TFLOP/s bf16, %.2f TB/s\n", g.ID, g.FLOP["bf16"].Value/1e12, g.Bandwidth.Value/1e12)
	// Output:
	// true by name and memory, NVIDIA H100 80GB HBM3
	// h100-sxm-80: 989 TFLOP/s bf16, 3.35 TB/s
}

func TestFind(t *testing.T) {
	for _, c := range []struct {
		name string
		d    hardware.Device
		want string // id, "" for none
		part float64
	}{
		{"by name and memory", hardware.Device{Name: "NVIDIA H100 80GB HBM3", Memory: 85018279936, Units: 132},
			"h100-sxm-80", 1},
		{"bare name, 96 GB", hardware.Device{Name: "NVIDIA H100", Memory: 102085492736, Units: 132}, "h100-96-meta", 1},
		{"bare name, 80 GB: not the part that has it",
			hardware.Device{Name: "NVIDIA H100", Memory: 85018279936, Units: 132}, "", 0},
		{"no name", hardware.Device{Memory: 206141652992, Units: 304, Major: 9, Minor: 4}, "mi300x", 1},
		{"no name, more memory", hardware.Device{Memory: 274877906944, Units: 304, Major: 9, Minor: 4},
			"mi325x", 1},
		{"no name, one of two", hardware.Device{Memory: 309237645312, Units: 256, Major: 9, Minor: 5}, "",
			0},
		{"no name, nothing known", hardware.Device{Memory: 1 << 40, Units: 7}, "", 0},
		{"nothing at all", hardware.Device{}, "", 0},
		{"H20 is not H200", hardware.Device{Name: "NVIDIA H20", Memory: 96 << 30, Units: 78}, "h20-96", 1},
		{"H200", hardware.Device{Name: "NVIDIA H200", Memory: 150e9, Units: 132}, "h200-sxm", 1},
		{"L20Y is a Hopper", hardware.Device{Name: "NVIDIA L20Y", Memory: 84943110144, Units: 132}, "h800-sxm", 1},
		{"a slice", hardware.Device{Name: "NVIDIA H100 80GB HBM3 MIG 3g.40gb", Memory: 42 << 30, Units: 60},
			"h100-sxm-80", 60.0 / 132},
		{"unknown name", hardware.Device{Name: "NVIDIA X900", Memory: 85018279936, Units: 132}, "", 0},
		{"name only", hardware.Device{Name: "NVIDIA B200"}, "b200", 1},
		{"V100 by name", hardware.Device{Name: "Tesla V100-SXM2-32GB", Memory: 34079637504, Units: 80}, "v100-sxm2", 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, why, ok := hardware.Find(hardware.Table(), c.d)
			if ok != (c.want != "") || why == "" {
				t.Fatalf("found %v (%q), want %v and a reason", ok, why, c.want != "")
			}
			if ok && (g.ID != c.want || g.Part != c.part) {
				t.Errorf("%s, part %v; want %s, part %v", g.ID, g.Part, c.want, c.part)
			}
		})
	}
}

// boost is the highest clock by that of the figures, 1 where one is not known.
func boost(g *hardware.GPU) float64 {
	if g.Clock.Value == 0 || g.MaxClock.Value == 0 {
		return 1
	}
	return g.MaxClock.Value / g.Clock.Value
}

// Memory decides between parts of one name: just inside and just outside of what counts as the same.
func TestMemoryOnEitherSide(t *testing.T) {
	const row = 85018279936
	for share, want := range map[float64]bool{0.925: true, 0.915: false, 1.075: true, 1.085: false} {
		memory := row * share
		_, _, ok := hardware.Find(hardware.Table(), hardware.Device{Name: "NVIDIA H100 80GB HBM3",
			Memory: int64(memory), Units: 132})
		if ok != want {
			t.Errorf("%.3f of the memory: found %v, want %v", share, ok, want)
		}
	}
}

// Units decide between a full GPU and a part of it.
func TestUnitsOnEitherSide(t *testing.T) {
	for units, whole := range map[int]bool{126: true, 125: false} {
		g, _, ok := hardware.Find(hardware.Table(), hardware.Device{Name: "NVIDIA H100 80GB HBM3", Memory: 85018279936,
			Units: units})
		if !ok || (g.Part == 1) != whole {
			t.Errorf("%d of 132 units: part %v, want whole %v", units, g.Part, whole)
		}
	}
}

func TestTable(t *testing.T) {
	gpus := hardware.Table()
	if len(gpus) < 57 {
		t.Errorf("%d GPUs, want 57", len(gpus))
	}
	seen := map[string]bool{}
	for i := range gpus {
		g := &gpus[i]
		if seen[g.ID] {
			t.Errorf("%s is there twice", g.ID)
		}
		seen[g.ID] = true
		if g.Bandwidth.Value <= 0 || g.Bandwidth.Value > 2e13 || g.BusBandwidth.Value > 0 &&
			g.BusBandwidth.Value < g.Bandwidth.Value {
			t.Errorf("%s: bandwidth %v", g.ID, g.Bandwidth)
		}
		if m := boost(g); m <= 0 || m > 1.2 {
			t.Errorf("%s: the highest clock is %v times that of the figures", g.ID, m)
		}
		for dtype, f := range g.FLOP {
			if f.Value < 0 || f.Value > 2e16 {
				t.Errorf("%s: %s %v", g.ID, dtype, f)
			}
		}
	}
	g, _, _ := hardware.Find(gpus, hardware.Device{Name: "NVIDIA H20-3e"})
	if g == nil || g.Bandwidth.Known() || !g.FLOP["bf16"].Known() {
		t.Errorf("H20-3e: %+v, want its bandwidth doubtful and its arithmetic known", g)
	}
}

func TestLoadRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"a\tb\n":                                        "must name the columns",
		"id\tpattern\nx\n":                              "1 fields, want 2",
		"id\tpattern\tbf16\nx\t^x$\tmany\n":             `bf16 "many"`,
		"id\tpattern\tbf16\nx\t^x$\tNaN\n":              `bf16 "NaN"`,
		"id\tpattern\nx\t(\n":                           `pattern "("`,
		"id\tpattern\n\t^x$\n":                          "no id",
		"id\tpattern\nx\t" + strings.Repeat("a", 70000): "token too long",
	} {
		_, err := hardware.Load(strings.NewReader(text))
		if !errors.Is(err, hardware.ErrTable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v, want %q", text, err, want)
		}
	}
	gpus, err := hardware.Load(strings.NewReader("# mine\nid\tpattern\tbf16\tbandwidth\nmine\t^Mine$\t100\t2000\n"))
	if err != nil || len(gpus) != 1 || gpus[0].FLOP["bf16"].Value != 1e14 || gpus[0].Bandwidth.Value != 2e12 {
		t.Errorf("%+v, %v", gpus, err)
	}
}

func TestNamed(t *testing.T) {
	for name, want := range map[string]string{"H100": "h100-sxm-80", "h200": "h200-sxm", "H20": "h20-96",
		"MI300X": "mi300x", "b200": "b200", "NVIDIA H100 PCIe": "h100-pcie",
		"H200 NVL": "h200-nvl", "RTX 4090": "rtx4090", "gb10": "gb10", "H900": "", "": "", "L4": "l4"} {
		g, ok := hardware.Named(hardware.Table(), name)
		if got := map[bool]func() string{true: func() string { return g.ID },
			false: func() string { return "" }}[ok](); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}
