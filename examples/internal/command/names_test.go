package command_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/internal/testdata"
)

// longName is a name of 340 characters for a kernel. Names of two variants differ in the middle alone.
func longName(kernel, variant string) string {
	half := strings.Repeat("add_mul_", 21)[:167]
	return kernel[:2] + half + variant + half + "<&"
}

// TestLongNamesOfKernels compares runs whose kernels have names of 340 characters: text stays within 160 columns, the
// kernels of the two runs look different wherever one is named instead of the other, and the page alone has entities.
func TestLongNamesOfKernels(t *testing.T) {
	dir := t.TempDir()
	write := func(name, variant string, more ...string) string {
		text := testdata.Unpacked(t, demo.Trace())
		for _, kernel := range []string{"nvjet_tst_64x8_64x16_4x1_v_bz_TNT", "fused_moe_kernel"} {
			text = bytes.ReplaceAll(text, []byte(`"`+kernel+`"`), []byte(`"`+longName(kernel, variant)+`"`))
		}
		text = []byte(strings.NewReplacer(more...).Replace(string(text)))
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, text, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	const other = "nvjet_tst_64x8_64x16_2x1_v_bz_TNT"
	a, b := write("a<i>&.json", "xy"), write("b<i>&.json", "zw", other, longName(other, "vv"))
	if n := len(longName(other, "xy")); n != 340 {
		t.Fatalf("a name of %d characters", n)
	}
	replaced := regexp.MustCompile(`((?:nv|fu)add_mul\S+) instead of (\S+)`)
	for _, c := range [][]string{{"compare", a, b}, {"triage", "--input", b, "--compare-input", a}} {
		for _, format := range []string{"text", "markdown"} {
			r := run(t, "", append(c, "--format", format)...)
			if r.Code != 0 && r.Code != gate.ExitFailed && r.Code != gate.ExitInconclusive {
				t.Fatalf("%v: exit code %d: %s", c, r.Code, r.Stderr)
			}
			if strings.Contains(r.Stdout, "&lt;") || strings.Contains(r.Stdout, "&amp;") {
				t.Errorf("%v as %s has entities", c, format)
			}
			for line := range strings.Lines(r.Stdout) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 160 && format == "text" {
					t.Errorf("%v: a line of %d characters: %s", c, n, line)
				}
			}
			pairs := replaced.FindAllStringSubmatch(strings.Join(strings.Fields(r.Stdout), " "), -1)
			for _, p := range pairs {
				if p[1] == strings.TrimRight(p[2], ",;") {
					t.Errorf("%v as %s: %s", c, format, p[0])
				}
			}
			if len(pairs) == 0 {
				t.Errorf("%v as %s names no kernel instead of another:\n%s", c, format, r.Stdout)
			}
		}
		page := filepath.Join(dir, c[0]+".html")
		run(t, "", append(c, "--html", page)...)
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(text, []byte("b&lt;i&gt;&amp;.json")) || bytes.Contains(text, []byte("b<i>")) {
			t.Errorf("the page of %v does not have the file's name with entities", c)
		}
	}
}
