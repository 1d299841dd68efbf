package page_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/page"
)

// TestPageHasNoFoldersAndKeys: a page is made to be sent.
func TestPageHasNoFoldersAndKeys(t *testing.T) {
	key := "hf_" + strings.Repeat("aB3", 12)
	r := &page.Page{
		Title: "/home/me & you/runs/a.json.gz", Program: "report",
		Verdict: "next: strata light '/home/me & you/runs/a.json.gz'",
		Notes:   []string{"not read: /home/me & you/runs/old/b.json.gz", "/usr/lib/python3/site.py(3): stays", key},
		Inputs:  []string{"/home/me & you/runs/a.json.gz", "/home/me & you/runs", "rel/x.json", "/top"},
	}
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"/home/me": false, key: false, "a.json.gz": true, "old/b.json.gz": true,
		"/usr/lib/python3/site.py": true} {
		if strings.Contains(out.String(), text) != want {
			t.Errorf("the page has %q: %v, want %v", text, !want, want)
		}
	}
}
