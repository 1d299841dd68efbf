package command_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
)

const notice = "NOTICE"

// linked are the modules that the program is made of.
func linked(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}",
		"github.com/llmstrata/strata/examples/strata").Output()
	if err != nil {
		t.Skipf("SKIPPED, NOT CHECKED: go list: %v", err)
	}
	modules := strings.Fields(string(out))
	slices.Sort(modules)
	return slices.DeleteFunc(slices.Compact(modules), func(m string) bool { return m == "github.com/llmstrata/strata" })
}

// TestNoticeHasEveryLinkedModule: the notices of all modules in the program, and no others. go test -run
// Notice -update writes them.
func TestNoticeHasEveryLinkedModule(t *testing.T) {
	modules := linked(t)
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		writeNotice(t, modules)
	}
	text, err := os.ReadFile(notice)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range modules {
		if !bytes.Contains(text, []byte("\n== "+m+"\n")) {
			t.Errorf("%s is linked, and its licence is not in %s", m, notice)
		}
	}
	if n := bytes.Count(text, []byte("\n== ")); n != len(modules)+1 { // and Go's
		t.Errorf("%s has %d parts for %d modules and Go", notice, n, len(modules))
	}
	r := run(t, "", "version", "--licenses")
	if r.Code != app.ExitOK || !strings.Contains(r.Stdout, "== github.com/klauspost/compress") ||
		!strings.Contains(r.Stdout, "Redistribution and use") {
		t.Errorf("version --licenses: exit code %d, %d bytes", r.Code, len(r.Stdout))
	}
}

func writeNotice(t *testing.T, modules []string) {
	t.Helper()
	var out bytes.Buffer
	fmt.Fprint(&out, "The program holds the following works of others, under their licences.\n")
	add := func(name, dir string) {
		fmt.Fprintf(&out, "\n== %s\n", name)
		found := 0
		for _, pattern := range []string{"LICENSE*", "LICENCE*", "COPYING*", "NOTICE*", "PATENTS*"} {
			files, err := filepath.Glob(filepath.Join(dir, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				text, err := os.ReadFile(f)
				if err != nil {
					continue // a folder
				}
				found++
				fmt.Fprintf(&out, "\n%s\n", bytes.TrimSpace(text))
			}
		}
		if found == 0 {
			t.Errorf("%s has no licence in %s", name, dir)
		}
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	add("Go standard library and runtime", strings.TrimSpace(string(root)))
	for _, m := range modules {
		dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", m).Output()
		if err != nil {
			t.Fatal(err)
		}
		add(m, strings.TrimSpace(string(dir)))
	}
	if err := os.WriteFile(notice, out.Bytes(), 0o666); err != nil {
		t.Fatal(err)
	}
}
