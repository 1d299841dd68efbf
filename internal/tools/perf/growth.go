package main

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// growth says how time and memory of each program grow with the size of the
// trace: fitted lines, where three sizes or more were measured.
func (p *page) growth(b *bytes.Buffer) error {
	if len(p.files) < 3 {
		return nil
	}
	t := table.New(table.Text("What"), table.Text("File"), table.Number("Sizes"), table.Number("Time (s)"),
		table.Number("R²"),
		table.Number("Peak memory"), table.Number("R²"))
	for _, first := range p.files[0].rows {
		var gb, seconds, memory []float64
		for i := range p.files {
			for _, r := range p.files[i].rows {
				if r.name == first.name && r.file == first.file {
					gb = append(gb, float64(p.files[i].plainBytes)/1e9)
					seconds = append(seconds, r.took.Seconds())
					memory = append(memory, float64(r.peak)/1e6)
				}
			}
		}
		if len(gb) < 3 {
			continue
		}
		ts, to, tr := fit(gb, seconds)
		peak, straight := table.None, table.None
		if !slices.Contains(memory, 0) { // 0 is unknown
			ms, mo, mr := fit(gb, memory)
			peak, straight = line(mo, ms, 0)+" MB/GB", table.Fixed(mr, 4)
		}
		t.Row(first.name, first.file, strconv.Itoa(len(gb)), line(to, ts, 3)+" s/GB", table.Fixed(tr, 4), peak,
			straight)
	}
	b.WriteString("\n## Growth\n\nLines through the figures above, by least squares: a constant, and what each GB of JSON adds. R² is 1 where all points lie on the line.\n\n")
	return t.WriteMarkdown(b)
}

// line writes "offset + slope".
func line(offset, slope float64, digits int) string {
	return table.Fixed(offset, digits) + " + " + table.Fixed(slope, digits)
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
