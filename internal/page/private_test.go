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
		Notes: []string{"not read: /home/me & you/runs/old/b.json.gz", "/usr/lib/alice/site.py(3): f", key,
			"in /home/bob/run 7", `C:\Users\carol\x.json`, "POST /v1/chat/completions, 8 tokens/s",
			"/x/site-packages/torch/nn.py(7), /sgl-workspace/sglang/python/sglang/srt/a.py:1"},
		Inputs: []string{"/home/me & you/runs/a.json.gz", "/home/me & you/runs", "rel/x.json", "/top"},
	}
	var out bytes.Buffer
	if err := r.Write(&out); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"/home/me": false, key: false, "a.json.gz": true, "old/b.json.gz": true,
		"alice": false, ">site.py(3): f<": true, ">in run 7<": true, "carol": false, "x.json": true,
		"POST /v1/chat/completions, 8 tokens/s": true, ">torch/nn.py(7), sglang/srt/a.py:1<": true} {
		if strings.Contains(out.String(), text) != want {
			t.Errorf("the page has %q: %v, want %v", text, !want, want)
		}
	}
	out.Reset()
	if err := r.Write(page.WithPaths(&out)); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"/home/me &amp; you/runs/a.json.gz": true,
		"/usr/lib/alice/site.py(3): f": true,
		`C:\Users\carol\x.json`:        true, key: false} {
		if strings.Contains(out.String(), text) != want {
			t.Errorf("with full paths the page has %q: %v, want %v", text, !want, want)
		}
	}
}
