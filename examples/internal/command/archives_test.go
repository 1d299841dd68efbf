package command_test

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/demo"
)

// TestNoOutputNamesWhereArchivesAreUnpacked: whatever a command writes of an archive, or of one file of it, calls files
// as they are called in the archive.
func TestNoOutputNamesWhereArchivesAreUnpacked(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("DISPLAY", "") // strata view opens no browser
	t.Setenv("WAYLAND_DISPLAY", "")
	f, err := os.Create("x.zip")
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for name, data := range map[string][]byte{"p/x-TP-0.json.gz": demo.Trace(), "p/x-TP-1.json.gz": demo.Trace(),
		"p/y-TP-2.json": []byte(`{"traceEvents": 1}`)} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, c := range []string{"report", "report --html page.html --full-paths", "view", "answer", "answer --all-ranks",
		"layers", "breakdown", "light", "light --all-ranks", "triage", "triage --pprof x.pb.gz", "host", "what-if",
		"compare --b x.zip --a", "host-compare --target x.zip --baseline", "fleet", "digest", "export",
		"export --format ndjson", "perfetto", "perfetto --annotate a.json.gz",
		"perfetto --all-ranks --annotate a.json.gz", "triage --compare-input x.zip --input"} {
		for i, of := range []string{"x.zip", "x.zip:p/x-TP-1.json.gz", "x.zip:p/y-TP-2.json", "x.zip:p/none.json"} {
			for _, format := range []string{"", "json"}[min(i, 1):] {
				args := append(strings.Fields(c), of)
				if format != "" && !strings.Contains(c, "--format") && c != "view" && c != "export" && c != "digest" {
					args = append(args, "--format", format)
				}
				os.Remove("page.html")
				r := run(t, "", args...)
				out := r.Stdout + r.Stderr
				page, err := os.ReadFile("page.html")
				if err == nil {
					out += string(page)
				}
				if at := strings.Index(out, "strata-archive-"); at >= 0 {
					t.Errorf("%q: %s", args, out[max(0, at-100):min(len(out), at+100)])
				}
				if member := filepath.Base(of); of != "x.zip" && r.Code == app.ExitOK {
					name, bad := of, member != "x-TP-1.json.gz"
					if c == "digest" || c == "fleet" { // which say which of the ranks is bad, and name no folders
						name, bad = member, bad && !strings.Contains(out, `"bad":"not a profiler trace`)
					}
					if named++; bad || !strings.Contains(out, name) {
						t.Errorf("%q does not name the file that it read: %.300s", args, out)
					}
				}
			}
		}
	}
	if named == 0 {
		t.Error("no command read one file of an archive")
	}
}
