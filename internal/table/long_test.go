package table_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/table"
)

// TestMarkdownLinesAreNotEndless: a name of the longest kernels stays whole, one
// of 64 KB does not make a row of 64 KB.
func TestMarkdownLinesAreNotEndless(t *testing.T) {
	for n, want := range map[int]int{table.MaxMarkdown: table.MaxMarkdown, table.MaxMarkdown + 1: table.MaxMarkdown,
		1 << 16: table.MaxMarkdown} {
		tab := table.New(table.Code("Kernel"))
		tab.Row("<" + strings.Repeat("é", n-2) + ">")
		var b strings.Builder
		if err := tab.WriteMarkdown(&b); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(b.String()), "\n")
		got := utf8.RuneCountInString(strings.Trim(lines[2], "| `"))
		if got != want || !strings.Contains(lines[2], "`<é") || !strings.Contains(lines[2], "é>`") {
			t.Errorf("a name of %d characters makes %d, want %d", n, got, want)
		}
	}
}
