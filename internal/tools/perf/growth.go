package main

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// minSizes is how many sizes a line is drawn through at least.
const minSizes = 3

// growth returns what each GB of JSON adds to the time and memory of a contender, and the R² of the time: 1 where too
// few sizes were measured.
func (p *page) growth(of row) (string, float64) {
	var gb, seconds, memory []float64
	for i := range p.files {
		for _, r := range p.files[i].rows {
			if r.name == of.name && r.file == of.file {
				gb = append(gb, float64(p.files[i].plainBytes)/1e9)
				seconds = append(seconds, r.took.Seconds())
				memory = append(memory, float64(r.peak)/1e6)
			}
		}
	}
	if len(gb) < minSizes {
		return table.None, 1
	}
	slope, _, r2 := fit(gb, seconds)
	adds := table.Fixed(slope, 3) + " s"
	if !slices.Contains(memory, 0) { // 0 is unknown
		slope, _, _ := fit(gb, memory)
		adds += ", " + table.Fixed(slope, 0) + " MB"
	}
	return adds, r2
}

// meminfo returns the bytes that the system gives for a key, 0 where it has none.
func meminfo(key string) int64 {
	text, err := os.ReadFile("/proc/meminfo")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(text), "\n") {
		name, rest, ok := strings.Cut(line, ":")
		if f := strings.Fields(rest); ok && name == key && len(f) > 0 {
			kb, _ := strconv.ParseInt(f[0], 10, 64)
			return kb << 10
		}
	}
	return 0
}

// availableMemory is what processes could take now without swapping, 0 if unknown.
func availableMemory() int64 { return meminfo("MemAvailable") }
