package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
)

func TestExportSection(t *testing.T) {
	r := exportResult{
		fileResult: fileResult{events: 4_000_000, rows: []row{
			{everything, "sqlite", 2 * time.Second, .05, 500 << 20},
			{pythonExport, "sqlite", 10 * time.Second, 0, 2000 << 20},
		}},
		stats: nsysgen.Stats{Kernels: 1_000_000, Calls: 2_000_000, Ranges: 1_000_000}, bytes: 12_345,
	}
	var b bytes.Buffer
	if err := r.markdown(&b); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	if !strings.Contains(got, "1,000,000 kernels, 2,000,000 API calls, 1,000,000 NVTX ranges\n\n12,345 bytes") {
		t.Errorf("the heading does not say what was generated:\n%s", got)
	}
	_, rows, _ := strings.Cut(got, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	want := "| strata, everything | 2.000 | 5% | 500.0 | 524 MB | 5.0× | 4.0× |\n" +
		"| Python sqlite3, the published scripts' queries | 10.000 | 0% | 2500.0 | 2.10 GB | - | - |\n"
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
}

func TestListSplitsFlags(t *testing.T) {
	if diff := cmp.Diff([]string{"1MB", "2GB"}, list(" 1MB,, 2GB,")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := list(""); len(got) != 0 {
		t.Errorf("list of nothing = %q", got)
	}
}
