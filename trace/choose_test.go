package trace_test

import (
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/trace"
)

// TestFilesOfOneRecording: of each stage the newest of the lowest rank, those directly inside first, merged files and
// left-overs last.
func TestFilesOfOneRecording(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(n), 0) }
	file := func(path string, rank int, stage string, when int) trace.File {
		return trace.File{Path: path, Rank: rank, Stage: stage, ModTime: at(when)}
	}
	merged, partial := file("/r/m", -1, "", 9), file("/r/p", -1, "", 9)
	merged.Merged, partial.Partial = true, true
	for _, c := range []struct {
		name  string
		files []trace.File
		all   bool
		want  string
	}{
		{"one", []trace.File{merged}, false, "/r/m"},
		{"rank 0", []trace.File{file("/r/b", 1, "", 1), file("/r/a", 0, "", 1)}, false, "/r/a"},
		{"lowest rank", []trace.File{file("/r/b", 3, "", 1), file("/r/a", 2, "", 1)}, false, "/r/a"},
		{"all ranks", []trace.File{file("/r/b", 1, "", 1), file("/r/a", 0, "", 1), file("/r/c", -1, "", 1)}, true,
			"/r/a /r/b"},
		{"ranks before none", []trace.File{file("/r/c", -1, "", 9), file("/r/a", 0, "", 1)}, false, "/r/a"},
		{"newest", []trace.File{file("/r/a", 0, "", 1), file("/r/b", 0, "", 2)}, false, "/r/b"},
		{"newest of a time by name", []trace.File{file("/r/a", 0, "", 1), file("/r/b", 0, "", 1)}, false, "/r/b"},
		{"of each stage", []trace.File{file("/r/a", 0, "decode", 1), file("/r/b", 0, "prefill", 2),
			file("/r/c", 0, "decode", 2), file("/r/d", 0, "", 3)}, false, "/r/c /r/b"},
		{"not merged", []trace.File{merged, file("/r/a", 0, "", 1)}, false, "/r/a"},
		{"not left over", []trace.File{partial, file("/r/a", 0, "", 1)}, false, "/r/a"},
		{"left over before merged", []trace.File{merged, partial}, false, "/r/p"},
		{"directly inside", []trace.File{file("/r/x/a", 0, "", 9), file("/r/b", 0, "", 1)}, false, "/r/b"},
		{"stages below", []trace.File{file("/r/x/a", 0, "decode", 1), file("/r/y/b", 0, "", 9)}, false, "/r/x/a"},
		{"a directory for each rank", []trace.File{file("/r/x/t-TP-0.json", 0, "", 1), file("/r/y/t-TP-1.json", 1, "", 2),
			file("/r/z/o-TP-2.json", 2, "", 1)}, true, "/r/x/t-TP-0.json /r/y/t-TP-1.json"},
		{"the newest directory", []trace.File{file("/r/x/a", 0, "", 1), file("/r/y/b", 1, "", 9),
			file("/r/y/c", 0, "", 2)}, false, "/r/y/c"},
	} {
		var got []string
		for _, f := range trace.ChooseFiles("/r/", c.files, c.all) {
			got = append(got, f.Path)
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s: %s, want %s", c.name, s, c.want)
		}
	}
}
