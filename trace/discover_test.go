package trace_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/trace"
)

func TestChoose(t *testing.T) {
	const events, other = `{"traceEvents": []}`, `{"a": 1}`
	tests := []struct {
		name  string
		files [][2]string // name and content, oldest first
		want  []string
	}{
		{"direct-files-of-rank-0", [][2]string{{"b-TP-1.trace.json", ""}, {"a-TP-0.trace.json", ""},
			{"sub/z-TP-0.trace.json", ""}}, []string{"a-TP-0.trace.json"}},
		{"lowest-rank", [][2]string{{"x-TP-3.trace.json.gz", ""}, {"x-TP-2.trace.json.gz", ""}},
			[]string{"x-TP-2.trace.json.gz"}},
		{"newest-of-each-stage", [][2]string{{"r/1-TP-0-DECODE.trace.json", ""}, {"r/1-TP-0-EXTEND.trace.json", ""},
			{"q/2-TP-0-DECODE.trace.json", ""}},
			[]string{"q/2-TP-0-DECODE.trace.json", "r/1-TP-0-EXTEND.trace.json"}},
		{"newest-directory", [][2]string{{"old/1.trace.json", ""}, {"new/2.trace.json", ""}},
			[]string{"new/2.trace.json"}},
		{"merged-only-if-nothing-else", [][2]string{{"1-TP-0.trace.json", ""}, {"merged-1.trace.json", ""}},
			[]string{"1-TP-0.trace.json"}},
		{"merged-alone", [][2]string{{"merged-1.trace.json", ""}, {"config.json", other}},
			[]string{"merged-1.trace.json"}},
		{"tmp-of-a-killed-server", [][2]string{{"1-TP-0.trace.json.gz.tmp", ""}}, []string{"1-TP-0.trace.json.gz.tmp"}},
		{"tmp-beside-a-whole-file", [][2]string{{"1.trace.json", ""}, {"2.trace.json.tmp", ""}},
			[]string{"1.trace.json"}},
		{"rank-in-the-ending", [][2]string{{"trace.json-rank-1.gz", events}, {"trace.json-rank-0.gz", events}},
			[]string{"trace.json-rank-0.gz"}},
		{"hidden-folder", [][2]string{{"decode/1-TP-0.trace.json", ""}, {".rejected/decode/0-TP-0.trace.json", ""}},
			[]string{"decode/1-TP-0.trace.json"}},
		{"by-content", [][2]string{{"profile.json", events}, {"notes.json", other}, {"server_args.json", events},
			{"bare.json", `[{"ph": "X"}]`}}, []string{"bare.json"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for i, f := range tt.files {
				p := filepath.Join(root, filepath.FromSlash(f[0]))
				if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(p, []byte(f[1]), 0o644); err != nil {
					t.Fatal(err)
				}
				when := time.Unix(1_700_000_000+int64(i), 0)
				if err := os.Chtimes(p, when, when); err != nil {
					t.Fatal(err)
				}
			}
			files, err := trace.ListFiles(root)
			if err != nil {
				t.Fatal(err)
			}
			files = trace.ChooseFiles(root, files, false)
			var got []string
			for _, f := range files {
				rel, _ := filepath.Rel(root, f.Path)
				got = append(got, filepath.ToSlash(rel))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestListFilesSaysWhenThereIsNothing(t *testing.T) {
	if _, err := trace.ListFiles(t.TempDir()); !errors.Is(err, trace.ErrNoTrace) {
		t.Errorf("got %v, want ErrNoTrace", err)
	}
	if _, err := trace.ListFiles(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want ErrNotExist", err)
	}
}
