package command_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestNextCommands runs each command that a report or an answer prints, as it is printed: each is understood, and has
// the floors of the report, whose flags change them.
func TestNextCommands(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b's") // a path that a shell would split
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	config, one := filepath.Join(dir, "model.json"), filepath.Join(dir, "demo.json.gz")
	for path, data := range map[string][]byte{config: []byte(demo.Config()), one: demo.Trace()} {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	two := filepath.Join(dir, "two.sqlite")
	if _, err := nsysgen.Write(two, nsysgen.Default(1)); err != nil {
		t.Fatal(err)
	}
	known := []string{"--config", config, "--tp", "2", "--gpu", "H200", "--peak", "bf16=500,memory=2", "--kv-len", "4000",
		"--repair-order"}
	cases := [][]string{append([]string{one}, known...), {two}, {two, "--device", "0"}}
	for _, path := range testdata.Spread(t, testdata.SharedGlob(t, "traces/torch/*.json.gz")) {
		cases = append(cases, []string{path, "--gpu", "H200", "--num-layers", "3", "--memory-limit", "2GB"})
	}
	lit := 0
	for _, args := range cases {
		r := run(t, "", append([]string{"report", "--format", "json", "--quiet"}, args...)...)
		if r.Code != app.ExitOK {
			continue // of a trace without GPU work
		}
		var doc struct {
			Findings []struct{ Next string }
			Passes   []struct {
				Floor int64 `json:"floor_ns"`
			}
		}
		if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil {
			t.Fatal(err)
		}
		var answer struct {
			Next []string `json:"next"`
		}
		a := run(t, "", append([]string{"answer", "--format", "json", "--quiet"}, args...)...)
		if err := json.Unmarshal([]byte(a.Stdout), &answer); err != nil {
			t.Fatal(err)
		}
		text := run(t, "", append([]string{"report", "--width", "60", "--quiet", "--all"}, args...)...).Stdout
		next := answer.Next
		for _, f := range doc.Findings {
			if next = append(next, f.Next); !strings.Contains(text, "next: "+f.Next+"\n") {
				t.Errorf("%q: the text of the report does not have on one line: %s", args, f.Next)
			}
		}
		slices.Sort(next)
		for _, line := range slices.Compact(next) {
			w := words(strings.ReplaceAll(line, `'\''`, `'"'"'`))
			got := run(t, "", append(w[1:], "--format", "json", "--quiet")...)
			if got.Code != app.ExitOK {
				t.Errorf("%q says to run %s: exit code %d: %s", args, line, got.Code, got.Stderr)
			}
			if w[1] != "light" {
				continue
			}
			var light struct {
				Passes []struct {
					Floor int64 `json:"floor_ns"`
				}
			}
			if err := json.Unmarshal([]byte(got.Stdout), &light); err != nil {
				t.Fatal(err)
			}
			for i, p := range light.Passes {
				if lit++; p != doc.Passes[i] {
					t.Errorf("%s: pass %d has a floor of %d ns, that of the report is %d", line, i, p.Floor,
						doc.Passes[i].Floor)
				}
			}
		}
	}
	if lit == 0 {
		t.Error("no command printed floors")
	}
}
