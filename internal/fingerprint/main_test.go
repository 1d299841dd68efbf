package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

func TestCompareListsWhatChanged(t *testing.T) {
	dir := t.TempDir()
	before, after := filepath.Join(dir, "old"), filepath.Join(dir, "new")
	write(t, before, "triage demo json aa\ntriage demo html bb\nhost-detect demo json cc\n")
	write(t, after, "triage demo json aa\ntriage demo html b2\nkernel-export demo csv dd\n")
	var out bytes.Buffer
	same, err := compare(&out, before, after)
	if err != nil || same {
		t.Errorf("compare = %v, %v, want a difference", same, err)
	}
	want := "changed triage demo html\ngone    host-detect demo json\nnew     kernel-export demo csv\n3 of 3 documents differ\n"
	if out.String() != want {
		t.Errorf("compare printed\n%swant\n%s", &out, want)
	}
	if same, err := compare(&out, before, before); err != nil || !same {
		t.Errorf("compare of a file with itself = %v, %v, want true", same, err)
	}
}

func TestCompareRefusesOtherFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	write(t, path, "nonsense\n")
	if _, err := compare(&bytes.Buffer{}, path, path); err == nil || !strings.Contains(err.Error(), ":1:") {
		t.Errorf("compare = %v, want an error that names the line", err)
	}
}

// TestEveryProgramIsAsked keeps the list of programs complete: one that is
// added and not listed would change without anybody seeing it.
func TestEveryProgramIsAsked(t *testing.T) {
	others := map[string]string{
		"capture":        "needs a server",
		"compare":        "reads two traces",
		"speed-of-light": "needs a config for each trace",
		"report":         "says what the analyses say that are asked one by one",
		"strata":         "the same programs in one",
		"embed":          "prints measured times",
		"triage-bundle":  "reads no traces",
		"internal":       "not a program",
	}
	asked := map[string]bool{}
	for _, p := range programs {
		asked[p.name] = true
	}
	list, err := os.ReadDir("../../examples")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.IsDir() && !asked[e.Name()] && others[e.Name()] == "" {
			t.Errorf("examples/%s is neither fingerprinted nor excused", e.Name())
		}
	}
}

func TestSameDocumentSameHash(t *testing.T) {
	if !testdata.Long() {
		t.Skip("builds a program")
	}
	t.Chdir("../..")
	only := regexp.MustCompile(`^kernel-export (demo|generated/moe-amd) csv$`)
	keep := t.TempDir()
	a, err := fingerprint(t.Context(), only, keep, 2)
	if err != nil {
		t.Fatal(err)
	}
	b, err := fingerprint(t.Context(), only, "", 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(a) != 2 || strings.Join(a, "") != strings.Join(b, "") {
		t.Errorf("two runs gave\n%q\n%q, want two equal lines", a, b)
	}
	doc, err := os.ReadFile(filepath.Join(keep, "kernel-export", "demo.csv"))
	if err != nil || !bytes.HasPrefix(doc, []byte("index,ts_ns")) {
		t.Errorf("kept document begins %.20q, %v, want the CSV header", doc, err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
