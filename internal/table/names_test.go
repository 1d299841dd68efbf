package table_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestKernelsAreKnownAt80: in a table as wide as a terminal with the columns of the triage report, the label of each
// kernel that is known keeps its base name, or, where that is longer than the column, its first letters and its last
// word: the tile.
func TestKernelsAreKnownAt80(t *testing.T) {
	data, err := os.ReadFile(testdata.Shared(t, "labels/kernel-names.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(bytes.NewReader(data))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, -1
	rows, err := r.ReadAll()
	if err != nil || len(rows) < 800 {
		t.Fatalf("%d names, %v", len(rows), err)
	}
	names := make([]string, 0, len(rows))
	for _, row := range rows[1:] {
		names = append(names, row[0])
	}
	const width, dots = 80, 3
	const room = 31 // of the column: what the others leave at their narrowest, one space apart
	whole, long := 0, 0
	for _, label := range classify.Labels(names, nil) {
		tab := table.New(table.Code("Kernel"), table.Text("Operator"), table.Number("GPU time"), table.Number("Share"),
			table.Number("Launches"), table.Path("Source line"))
		tab.Row(label, "experts_gate_up+experts_activation", "83.3 ms", "53.4%", "1,024",
			"vllm/model_executor/layers/layernorm.py:218 forward")
		var b strings.Builder
		if err := tab.WriteFit(&b, width); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		row := lines[len(lines)-1]
		for _, l := range lines {
			if n := utf8.RuneCountInString(l); n > width {
				t.Errorf("%q: a line of %d characters", label, n)
			}
		}
		base, _, _ := strings.Cut(label, "<")
		base = base[strings.LastIndexAny(base, ":/ ")+1:]
		if strings.Contains(row, base) {
			whole++
			continue
		}
		long++
		last := label[strings.LastIndexAny(strings.TrimRight(label, ">)]"), "_:<>(), ./")+1:]
		cell, _, _ := strings.Cut(row, " experts")
		if len(base)+2*dots <= room || !strings.HasPrefix(row, label[:4]) ||
			len(last) <= room/2 && !strings.HasSuffix(strings.TrimSpace(cell), last) {
			t.Errorf("%q is printed as %q", label, row)
		}
	}
	t.Logf("%d base names whole, %d shortened", whole, long)
	if whole <= long {
		t.Error("most base names are cut")
	}
}
