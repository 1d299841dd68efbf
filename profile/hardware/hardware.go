package hardware

import (
	"bufio"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Figure is a number and whether to rely on it. The zero Figure is unknown.
type Figure struct {
	Value    float64 `json:"value"`              // the number, 0 unknown
	Doubtful bool    `json:"doubtful,omitempty"` // sources differ, or none is the maker's
}

// Known says that a floor may rest on the figure.
func (f Figure) Known() bool { return f.Value > 0 && !f.Doubtful }

// A GPU is one row of the table.
type GPU struct {
	ID         string `json:"id"`         // name of the row
	Vendor     string `json:"vendor"`     // "nvidia" or "amd"
	Arch       string `json:"arch"`       // "sm90", "cdna3"
	Capability string `json:"capability"` // compute capability or architecture
	Units      int    `json:"units"`      // multiprocessors or compute units; 0 unknown
	Memory     int64  `json:"memory"`     // bytes; 0 unknown

	// FLOP holds the dense peak by data type in operations a second, at Clock.
	FLOP map[string]Figure `json:"flop"`
	// Measured holds, by data type, the operations a second that the maker's own tuned products reach, where it says
	// so. Floors rest on FLOP.
	Measured map[string]Figure `json:"measured"`
	// Bandwidth of the memory in bytes a second, as on the data sheet; BusBandwidth is bus width times memory clock
	// where that is more. No kernel exceeds the higher one.
	Bandwidth    Figure `json:"bandwidth"`
	BusBandwidth Figure `json:"bus_bandwidth"`
	// Cache is the size of the last cache before the memory, in bytes.
	Cache int64 `json:"cache"`
	// Link and Host are bytes a second in one direction to all other GPUs together, and to the host.
	Link Figure `json:"link"`
	Host Figure `json:"host"`
	// Clock, in MHz, is that of the FLOP figures, MaxClock the highest one that the GPU runs at.
	Clock    Figure `json:"clock"`
	MaxClock Figure `json:"max_clock"`
	// Part is the share of the GPU that a device is, below 1 for a slice (MIG) or a partition.
	Part float64 `json:"part"`

	pattern *regexp.Regexp
}

// A Device is what a trace says about a GPU. Zero fields are unknown.
type Device struct {
	// Name is the marketing name.
	Name string
	// Memory is all of the device's memory in bytes.
	Memory int64
	// Units counts multiprocessors or compute units.
	Units int
	// Major and Minor are the compute capability.
	Major, Minor int
	// Bandwidth of the memory in bytes a second and MaxClock in MHz, as the driver reports them: they come before the
	// table's.
	Bandwidth, MaxClock float64
	// Clock, in MHz, is what the GPU was measured to run at. Arithmetic is that at this clock then, if it can be this
	// GPU's.
	Clock float64
}

//go:embed gpus.tsv
var table string

// errTable is wrapped by the errors of [Load].
var errTable = errors.New("not a table of GPUs")

// Table returns the GPUs that this package knows. The slice is the caller's; the maps in it are shared and not to be
// changed.
func Table() []GPU { return slices.Clone(known()) }

// known reads the table once.
var known = sync.OnceValue(func() []GPU {
	gpus, err := Load(strings.NewReader(table))
	if err != nil {
		panic(err) // the table is embedded, and a test loads it
	}
	return gpus
})

// Load reads a table in the form of gpus.tsv: a line of column names, a line for each GPU, tabs between, comments
// after "#".
func Load(r io.Reader) ([]GPU, error) {
	sc := bufio.NewScanner(r)
	var columns []string
	var gpus []GPU
	for n := 1; sc.Scan(); n++ {
		line := strings.TrimRight(sc.Text(), "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if columns == nil {
			columns = fields
			if !slices.Contains(columns, "id") || !slices.Contains(columns, "pattern") {
				return nil, fmt.Errorf("line %d: %w: its first line must name the columns, id and pattern among them",
					n, errTable)
			}
			continue
		}
		if len(fields) != len(columns) {
			return nil, fmt.Errorf("line %d: %w: %d fields, want %d", n, errTable, len(fields), len(columns))
		}
		g, err := parse(columns, fields)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w: %w", n, errTable, err)
		}
		gpus = append(gpus, g)
	}
	if err := sc.Err(); err != nil {
		return nil, fmt.Errorf("%w: %w", errTable, err)
	}
	return gpus, nil
}

// units of the table's columns, in units a second (or bytes, or MHz).
const (
	tera = 1e12
	giga = 1e9
)

// dtypes are the columns of arithmetic peaks.
var dtypes = []string{"fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp6", "fp4"}

func parse(columns, fields []string) (GPU, error) {
	g := GPU{FLOP: map[string]Figure{}, Measured: map[string]Figure{}, Part: 1}
	var pattern string
	texts := map[string]*string{"id": &g.ID, "vendor": &g.Vendor, "arch": &g.Arch, "capability": &g.Capability,
		"pattern": &pattern}
	var units, memory, cache Figure
	figures := map[string]struct {
		to   *Figure
		unit float64
	}{"units": {&units, 1}, "memory": {&memory, 1}, "cache": {&cache, 1}, "bandwidth": {&g.Bandwidth, giga},
		"bus": {&g.BusBandwidth, giga}, "link": {&g.Link, giga}, "host": {&g.Host, giga}, "clock": {&g.Clock, 1},
		"max_clock": {&g.MaxClock, 1}}
	for i, column := range columns {
		text, err := fields[i], error(nil)
		if to := texts[column]; to != nil {
			*to = text
		} else {
			var f Figure
			f, err = figure(text)
			if one, ok := figures[column]; ok {
				*one.to = Figure{f.Value * one.unit, f.Doubtful}
			} else if slices.Contains(dtypes, column) {
				g.FLOP[column] = Figure{f.Value * tera, f.Doubtful}
			} else if dtype, ok := strings.CutPrefix(column, "measured_"); ok && f.Known() {
				g.Measured[dtype] = Figure{f.Value * tera, false}
			}
		}
		if err != nil {
			return g, fmt.Errorf("%s %q: %w", column, text, err)
		}
	}
	var err error
	if g.pattern, err = regexp.Compile(pattern); err != nil {
		return g, fmt.Errorf("pattern %q: %w", pattern, err)
	}
	g.Units, g.Memory, g.Cache = int(units.Value), int64(memory.Value), int64(cache.Value)
	if g.ID == "" {
		return g, errors.New("no id")
	}
	return g, nil
}

// figure reads "-" (unknown), a number, or a number followed by "?" (doubtful).
func figure(text string) (Figure, error) {
	if text == "-" || text == "" {
		return Figure{}, nil
	}
	number, doubtful := strings.CutSuffix(text, "?")
	v, err := strconv.ParseFloat(number, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		return Figure{}, errors.New("want a number, one followed by ?, or -")
	}
	return Figure{v, doubtful}, nil
}

const (
	// sameMemory is how far the memory that a driver reports may be from a row's: nominal sizes differ from it by up
	// to 7%, and the next larger part of one name (A100 40 and 80 GB, H100 80 and 96 GB) by 20% or more.
	sameMemory = 0.08
	// nearlyAll is the share of a row's units above which a device counts as a full GPU: parts of one name differ
	// by a few units that are switched off, the largest slices have 7 of 8 parts.
	nearlyAll = 0.95
)

// Find returns the GPU that a device is, and the evidence in words. It reports false if name and properties fit no
// row, or more than one: work can be shown then, floors cannot.
func Find(gpus []GPU, d Device) (*GPU, string, bool) {
	g, why, ok := find(gpus, d)
	g, why, ok = reported(g, why, ok, d)
	if g != nil {
		if at, scaled := g.atClock(d.Clock); scaled {
			return at, fmt.Sprintf("%s; its arithmetic at the measured %.0f MHz", why, d.Clock), ok
		}
	}
	return g, why, ok
}

func find(gpus []GPU, d Device) (*GPU, string, bool) {
	var named []*GPU
	for i := range gpus {
		if d.Name != "" && gpus[i].pattern.MatchString(d.Name) {
			named = append(named, &gpus[i])
		}
	}
	if len(named) > 0 {
		if g := pick(named, d); g != nil {
			return part(g, d)
		}
		if d.Memory == 0 && len(named) == 1 {
			return named[0], "by name, " + d.Name, true
		}
		return slice(named, d)
	}
	if d.Name != "" && !generic(d.Name) {
		return nil, fmt.Sprintf("%s is not in the table of GPUs", d.Name), false
	}
	return byProperties(gpus, d)
}

// vendorAMD is the vendor whose GPUs have compute units.
const vendorAMD = "amd"

// generic names say nothing: drivers give them where they do not know the part, and some traces have the vendor only.
func generic(name string) bool {
	return slices.Contains([]string{"AMD Radeon Graphics", "NVIDIA Graphics Device", "AMD", "Nvidia"}, name)
}

// pick returns the row among those of one name whose memory fits, nil where none does.
func pick(named []*GPU, d Device) *GPU {
	for _, g := range named {
		if d.Memory > 0 && g.Memory > 0 && near(d.Memory, g.Memory) {
			return g
		}
	}
	for _, g := range named {
		if g.Memory == 0 && (d.Units == 0 || d.Units == g.Units) {
			return g
		}
	}
	return nil
}

func near(a, b int64) bool { return math.Abs(float64(a)/float64(b)-1) <= sameMemory }

// part scales a row where the device has fewer units than it: a partition.
func part(g *GPU, d Device) (*GPU, string, bool) {
	why := "by name and memory, " + d.Name
	if d.Units == 0 || g.Units == 0 || float64(d.Units) >= nearlyAll*float64(g.Units) {
		return g, why, true
	}
	return scaled(g, float64(d.Units)/float64(g.Units), 1),
		fmt.Sprintf("%s with %d of its %d units: its arithmetic is scaled", d.Name, d.Units, g.Units), true
}

// slice is a device with the name of a GPU and less of its memory.
func slice(named []*GPU, d Device) (*GPU, string, bool) {
	for _, g := range named {
		if d.Memory > 0 && d.Memory < g.Memory && d.Units > 0 && float64(d.Units) < nearlyAll*float64(g.Units) {
			units, memory := float64(d.Units)/float64(g.Units), float64(d.Memory)/float64(g.Memory)
			return scaled(g, units, memory), fmt.Sprintf("a slice of %s: %d of %d units, %.0f%% of its memory; its peaks are "+
				"scaled", d.Name, d.Units, g.Units, 100*memory), true
		}
	}
	return nil, fmt.Sprintf("%s with %s is none that the table knows", d.Name, d.size("units")), false
}

// scaled is a part of a GPU. Links belong to the full GPU and so are unknown.
func scaled(g *GPU, units, memory float64) *GPU {
	s := *g
	s.Part = units
	s.FLOP, s.Measured = map[string]Figure{}, nil
	for k, f := range g.FLOP {
		s.FLOP[k] = Figure{f.Value * units, f.Doubtful}
	}
	s.Bandwidth.Value *= memory
	s.BusBandwidth.Value *= memory
	s.Link = Figure{}
	return &s
}

// byProperties finds a device without a name: memory, units and capability must fit one row only.
func byProperties(gpus []GPU, d Device) (*GPU, string, bool) {
	const unnamed = "the trace does not name the GPU"
	if d.Memory == 0 || d.Units == 0 {
		return nil, unnamed, false
	}
	var found *GPU
	for i := range gpus {
		g := &gpus[i]
		if g.Units != d.Units || g.Memory == 0 || !near(d.Memory, g.Memory) || d.Major > 0 &&
			g.Capability != fmt.Sprintf("%d.%d", d.Major, d.Minor) {
			continue
		}
		if found != nil {
			return nil, fmt.Sprintf("%s, and it may be %s or %s", unnamed, found.ID, g.ID), false
		}
		found = g
	}
	if found == nil {
		return nil, fmt.Sprintf("%s, and no known one has %s", unnamed, d.size("units")), false
	}
	units := "SMs"
	if found.Vendor == vendorAMD {
		units = "CUs"
	}
	return found, fmt.Sprintf("by %s; the trace does not name it", d.size(units)), true
}

// size describes a device without a name: "304 CUs and 192 GB of memory", as makers
// count it: in powers of 1,024.
func (d *Device) size(units string) string {
	return fmt.Sprintf("%d %s and %.0f GB of memory", d.Units, units, float64(d.Memory)/(1<<30))
}

// Named returns the GPU that people mean by a short name: its id in the table, its marketing name, or that without
// the vendor: "H200", "MI300X", "h100-sxm-80". Of several parts of one name it is the first in the table.
func Named(gpus []GPU, name string) (*GPU, bool) {
	for i := range gpus {
		if strings.EqualFold(gpus[i].ID, name) {
			return &gpus[i], true
		}
	}
	for i := range gpus { // "H100" of "h100-sxm-80", but not "H20" of "h200-sxm"
		if id := strings.ToLower(name); strings.HasPrefix(gpus[i].ID, id+"-") {
			return &gpus[i], true
		}
	}
	upper := strings.ToUpper(name)
	for _, prefix := range []string{"", "NVIDIA ", "NVIDIA GeForce ", "AMD Instinct ", "AMD ", "Tesla "} {
		for i := range gpus {
			if gpus[i].pattern.MatchString(prefix+name) || gpus[i].pattern.MatchString(prefix+upper) {
				return &gpus[i], true
			}
		}
	}
	return nil, false
}
