package table_test

import (
	"bytes"
	"encoding/csv"
	"os"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestKernelsAreKnownAt80: in a table as wide as a terminal with the columns of the triage report, the base name of
// each kernel that is known is whole, in its column, over several lines where it is longer, and so is the operator.
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
	const width, operator = 80, "experts_gate_up+experts_activation"
	oneLine := 0
	for _, label := range classify.Labels(names, nil) {
		tab := table.New(table.Code("Kernel"), table.Text("Operator"), table.Number("GPU time"), table.Number("Share"),
			table.Number("Launches"), table.Path("Source line"))
		tab.Row(label, operator, "83.3 ms", "53.4%", "1,024", "vllm/model_executor/layers/layernorm.py:218 forward")
		var b strings.Builder
		if err := tab.WriteFit(&b, width); err != nil {
			t.Fatal(err)
		}
		head, rows, _ := strings.Cut(strings.TrimSpace(b.String()), "---\n")
		at := strings.Index(head[strings.LastIndex(head[:strings.LastIndex(head, "\n")], "\n")+1:], "Operator")
		cells := make([]string, 2)
		for l := range strings.Lines(rows) {
			line := []rune(strings.TrimRight(l, "\n"))
			if len(line) > width {
				t.Errorf("%q: a line of %d characters", label, len(line))
			}
			kernel := strings.TrimRight(string(line[:min(at, len(line))]), " ")
			cells[0] += kernel
			if len(line) > at {
				cells[1] += strings.Fields(string(line[at:]) + " -")[0]
			}
		}
		base, _, _ := strings.Cut(label, "<")
		base = base[strings.LastIndexAny(base, ":/ ")+1:]
		if !strings.Contains(cells[0], base) || !strings.Contains(cells[1], operator) ||
			strings.Contains(b.String(), "\n\n") {
			t.Errorf("%q is printed as %q of %q:\n%s", label, cells[0], cells[1], &b)
		}
		if strings.Contains(b.String(), base) {
			oneLine++
		}
	}
	t.Logf("%d base names in one line, %d over several", oneLine, len(names)-oneLine)
}
