package command

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestEveryCommandReadsEverySource: every command with every format has a document for a trace of each recorder, and
// names no recorder that cannot have made it. One that finds no layers to break down says so.
func TestEveryCommandReadsEverySource(t *testing.T) {
	exec := func(args ...string) (code int, stdout, stderr string) {
		var out, err bytes.Buffer
		code = Exec(t.Context(), args, strings.NewReader(""), &out, &err)
		return code, out.String(), err.String()
	}
	const nvidia, rocm, jax = "nsys ", "rocprofv3 --", "jax.profiler"
	for _, c := range []struct {
		file   string
		others []string // recorders of other GPUs or programs
		least  []string // commands to run, nil for all
	}{
		{"other/jax-conv-mi300.xplane.pb", []string{nvidia, "--trace=cuda", rocm, "torch.profiler", "nvidia-smi"}, nil},
		{"other/rocpd-3.0.0-sample.db", []string{nvidia, "--trace=cuda", jax, "nvidia-smi"}, nil},
		{"other/rocprofv3-908_results.json.gz", []string{nvidia, "--trace=cuda", jax, "nvidia-smi"},
			[]string{"report"}},
		{"nsys/tiny-no-nvtx-rtx3080.sqlite", []string{rocm, jax, "torch.profiler"}, nil},
		{"torch/sglang-qwen3-8b-decode-graph-mi300.json.gz", []string{nvidia, "--trace=cuda", rocm, jax}, nil},
	} {
		src := testdata.Shared(t, "traces/"+c.file)
		if usual := strings.HasPrefix(c.file, "nsys/") || strings.HasPrefix(c.file, "torch/"); usual && !testdata.Long() {
			c.least = []string{"report", "host"} // other tests run every command on such traces
		}
		documents, least := 0, 30
		if !testdata.Long() {
			least = 18
		}
		check := func(args ...string) {
			t.Helper()
			code, stdout, stderr := exec(append(args, "--quiet")...)
			if args[0] == "breakdown" && code == app.ExitError && strings.Contains(stderr, "no layers were found") {
				return
			}
			if !slices.Contains([]int{app.ExitOK, app.ExitFailed, app.ExitInconclusive}, code) || stdout == "" {
				t.Errorf("%s: %q: exit code %d, %d bytes: %s", c.file, args, code, len(stdout), stderr)
			}
			documents++
			for _, other := range c.others {
				if i := strings.Index(stdout+stderr, other); i >= 0 {
					all := stdout + stderr
					t.Errorf("%s: %q names %s: %s", c.file, args, other, all[max(0, i-120):min(len(all), i+120)])
				}
			}
		}
		for _, cmd := range commands() {
			if slices.Contains([]string{"view", "capture", "bundle"}, cmd.name) ||
				c.least != nil && !slices.Contains(c.least, cmd.name) {
				continue // a page in a browser, servers, documents
			}
			p, _ := cmd.program(nil)
			inputs := []string{src}
			switch cmd.name {
			case "compare":
				inputs = []string{"--a", src, "--b", src}
			case "host-compare":
				inputs = []string{"--baseline", src, "--target", src}
			}
			for _, f := range p.Formats {
				usual := f == app.Text || f == app.JSON && c.least == nil // other forms show what these do
				if usual || c.least == nil && testdata.Long() {
					check(append([]string{cmd.name, "--format", string(f)}, inputs...)...)
				}
			}
		}
		if documents < len(c.least) || c.least == nil && documents < least {
			t.Errorf("%s: only %d documents", c.file, documents)
		}
		for i, as := range []string{".json", ".json.gz", ".json.zst", ".pftrace"} {
			for _, flag := range []string{"--slice", "--annotate"} {
				if c.least != nil || (flag == "--slice") != (i%2 == 0) && !testdata.Long() {
					continue
				}
				dst := filepath.Join(t.TempDir(), "copy"+as)
				code, _, stderr := exec("perfetto", "--quiet", src, flag, dst)
				if info, err := os.Stat(dst); code != app.ExitOK || err != nil || info.Size() == 0 {
					t.Errorf("%s: perfetto %s %s: exit code %d: %s", c.file, flag, as, code, stderr)
					continue
				}
				if code, stdout, stderr := exec("layers", "--quiet", dst); code != app.ExitOK || stdout == "" {
					t.Errorf("%s: layers of %s %s: exit code %d: %s", c.file, flag, as, code, stderr)
				}
			}
		}
	}
}
