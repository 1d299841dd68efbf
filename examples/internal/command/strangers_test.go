package command_test

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestAliases: words that users of other tools try first run the command that answers, or name it.
func TestAliases(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("x.json.gz", demo.Trace(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args, same string // prints the same as
		hint       string // or is refused with
	}{
		{"diff --a x.json.gz --b x.json.gz", "compare --a x.json.gz --b x.json.gz", ""},
		{"top x.json.gz", "triage x.json.gz", ""}, {"kernels x.json.gz", "triage x.json.gz", ""},
		{"fuse x.json.gz", "triage x.json.gz", ""},
		{"roofline x.json.gz", "light x.json.gz", ""}, {"probe -h", "capture probe -h", ""},
		{"timeline x.json.gz", "layers x.json.gz", ""},
		{"stats x.json.gz", "report x.json.gz", ""}, {"analyze x.json.gz", "report x.json.gz", ""},
		{"flame x.json.gz", "", "--pprof"}, {"html -h", "view -h", ""},
		{"convert x.json.gz", "", "strata perfetto FILE --annotate x.pftrace"},
		{"overlay x.json.gz", "", "strata perfetto FILE --annotate x.json.gz"},
		{"analyse x.json.gz", "report x.json.gz", ""}, {"open -h", "view -h", ""},
		{"kernles", "", "neither a command nor a file"},
		{"report x.json.gz --json", "report x.json.gz --format json", ""},
		{"--json x.json.gz", "report x.json.gz --format json", ""},
		{"layers x.json.gz -q", "layers x.json.gz --quiet", ""}, {"-v", "version", ""},
		{"layers -v", "layers --version", ""},
		{"layers x.json.gz -o - ", "layers x.json.gz", ""},
		{"layers x.json.gz --anchor-kernel -o", "layers x.json.gz --anchor-kernel=-o", ""},
	} {
		r := run(t, "", strings.Fields(c.args)...)
		if c.hint != "" {
			if r.Code != 2 || !strings.Contains(r.Stderr, c.hint) || strings.Count(r.Stderr, "\n") != 1 {
				t.Errorf("%s: exit code %d, %q", c.args, r.Code, r.Stderr)
			}
			continue
		}
		if want := run(t, "", strings.Fields(c.same)...); r.Code != want.Code || r.Stdout != want.Stdout {
			t.Errorf("%s: exit code %d, want that and the output of %s\n%s", c.args, r.Code, c.same, r.Stderr)
		}
	}
	if r := run(t, "", "layers", "x.json.gz", "-o", "out.txt", "-q"); r.Code != 0 || r.Stdout != "" || r.Stderr != "" {
		t.Errorf("-o -q: exit code %d, %q, %q", r.Code, r.Stdout, r.Stderr)
	}
	if text, err := os.ReadFile("out.txt"); err != nil || !bytes.Contains(text, []byte("Layers of x.json.gz")) {
		t.Error(err)
	}
}

// TestWrongFiles: each kind of file that people have and that is no trace is named, with the command that helps.
func TestWrongFiles(t *testing.T) {
	t.Chdir(t.TempDir())
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	inner, err := z.Create("rank0/x.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	g := gzip.NewWriter(inner)
	if _, err := g.Write([]byte(`{"traceEvents":[]}`)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []interface{ Close() error }{g, z} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		file, text string
		says       []string
	}{
		{"a.qdstrm", "QDSTRM\x00\x01", []string{"Nsight Systems", "nsys export --type sqlite"}},
		{"a.ncu-rep", "NVR\x00\x01", []string{"Nsight Compute", "nsys profile"}},
		{"rocprof.csv", "\"Kernel_Name\",\"Start_Timestamp\"\n\"k\",1\n", []string{"rocprof", "rocprofv3"}},
		{"memory.pickle", "\x80\x04\x95\x10", []string{"memory snapshot", "memory_viz"}},
		{"x.json.xz", "\xfd7zXZ\x00", []string{"xz", "xz -d"}},
		{"lfs.json", "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
			[]string{"LFS", "git lfs pull"}},
		{"page.json", "<!DOCTYPE html><html><body>404", []string{"HTML", "curl"}},
		{"x.jsonl", "{\"a\":1}\n{\"a\":2}\n", []string{"JSON lines"}},
		{"stats.txt", "Processing [x.sqlite]\n ** CUDA GPU Kernel Summary (cuda_gpu_kern_sum):\n",
			[]string{"nsys stats", "nsys export --type sqlite"}},
		{"ranks.zip", packed.String(), []string{"no GPU time", "ranks.zip"}}, // it is read, as a folder of it is
		{"https://example.com/x.json.gz", "", []string{"URL", "curl -fLO"}},
		{"browser.json", `[{"name":"x","ph":"X","ts":1,"dur":2,"pid":1,"tid":1,"cat":"devtools.timeline"}]`,
			[]string{"no GPU time", "pass a trace of torch.profiler"}},
	} {
		if c.text != "" {
			if err := os.WriteFile(filepath.Base(c.file), []byte(c.text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		r := run(t, "", "report", c.file)
		last := strings.TrimSpace(r.Stderr[strings.LastIndexByte(strings.TrimSpace(r.Stderr), '\n')+1:])
		if r.Code != 1 || slices.ContainsFunc(c.says, func(s string) bool { return !strings.Contains(last, s) }) {
			t.Errorf("%s: exit code %d, %q, want %q in it", c.file, r.Code, last, c.says)
		}
	}
}

// TestErrorsAreForReaders: every command names the file and what is wrong, and neither a Go package nor a system call.
func TestErrorsAreForReaders(t *testing.T) {
	dir := t.TempDir()
	cpu := filepath.Join(dir, "cpu.json")
	if err := os.WriteFile(cpu, []byte(`{"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":2,`+
		`"pid":1,"tid":1}]}`), 0o666); err != nil {
		t.Fatal(err)
	}
	missing := filepath.Join(dir, "missing.json")
	commands := []string{"report", "layers", "breakdown", "light", "triage", "host", "what-if", "export", "perfetto"}
	for _, c := range commands {
		for path, says := range map[string]string{missing: missing + ": no such file or directory", cpu: cpu} {
			r := run(t, "", c, path)
			lines := strings.Split(strings.TrimSpace(r.Stderr), "\n")
			last := lines[len(lines)-1]
			if r.Code == 0 || !strings.HasPrefix(last, "strata "+c+": ") || !strings.Contains(last, says) {
				t.Errorf("%s %s: exit code %d, %q, want %q in it", c, path, r.Code, last, says)
			}
			for _, word := range append([]string{"stat ", "open "}, commandPackages(t)...) {
				if strings.Contains(last, ": "+word) {
					t.Errorf("%s %s: %q says %q", c, path, last, word)
				}
			}
		}
	}
	for path, says := range map[string]string{cpu: cpu + ": no GPU activity", "-": "name files or directories"} {
		if r := run(t, "", "fleet", path); r.Code != 1 || !strings.Contains(r.Stderr, says) {
			t.Errorf("fleet %s: exit code %d, %q, want %q in it", path, r.Code, r.Stderr, says)
		}
	}
}

// commandPackages are the beginnings of errors of the module's public packages.
func commandPackages(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir(testdata.Root(t))
	if err != nil {
		t.Fatal(err)
	}
	out := []string{"strata: "}
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name()+": ")
		}
	}
	return out
}

// TestHelpOfEveryCommand: the short help of a command fits two screens, and a line with one flag describes it.
func TestHelpOfEveryCommand(t *testing.T) {
	for _, c := range strings.Fields(run(t, "", "__complete", "").Stdout) {
		if r := run(t, "", c, "-h"); r.Code == 0 {
			if n := strings.Count(r.Stdout, "\n"); n > 60 {
				t.Errorf("%s -h has %d lines\n%s", c, n, r.Stdout)
			}
			if bare := regexp.MustCompile(`(?m)^  --[a-z-]+$`).FindString(r.Stdout); bare != "" {
				t.Errorf("%s -h does not say what%s is", c, bare)
			}
		}
	}
}
