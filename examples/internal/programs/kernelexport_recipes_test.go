package programs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/testdata"
)

// runQuery is a script for Node that runs the SQL of its argument in DuckDB and prints the rows.
const runQuery = `const {DuckDBInstance} = require('@duckdb/node-api');
(async () => { const c = await (await DuckDBInstance.create()).connect();
console.log(JSON.stringify((await c.runAndReadAll(process.argv[1])).getRowsJson())); })().catch(e => { console.error(e); process.exit(1); });`

// duckDB returns the command that runs SQL: the command line tool, or the package for Node; "" where neither is
// installed.
func duckDB() []string {
	if _, err := exec.LookPath("duckdb"); err == nil {
		return []string{"duckdb", "-c"}
	}
	if exec.Command("node", "-e", "require('@duckdb/node-api')").Run() == nil {
		return []string{"node", "-e", runQuery, "--"}
	}
	return nil
}

// pythonDuckDB returns a Python that has pandas, "" where none is installed.
func pythonDuckDB() []string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import pandas").Run() == nil {
			return []string{name, "-c"}
		}
	}
	return nil
}

// TestKernelExportRecipes runs every recipe of docs/export.md on the rows of the built-in trace.
func TestKernelExportRecipes(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(testdata.Root(t), "docs", "export.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, format := range []string{"csv", "ndjson"} {
		apptest.MustRun(t, KernelExport(), "--csv-safe=false", "--format", format, "--output",
			filepath.Join(dir, "kernels."+format))
	}
	for language, c := range map[string]struct {
		run  []string
		want int    // recipes
		says string // one of them, on the built-in trace
	}{"sql": {duckDB(), 3, "experts_gate_up"}, "python": {pythonDuckDB(), 3, "experts_gate_up"}} {
		t.Run(language, func(t *testing.T) {
			recipes := strings.Split(string(text), "```"+language+"\n")[1:]
			if len(recipes) != c.want {
				t.Fatalf("%d recipes, want %d", len(recipes), c.want)
			}
			if c.run == nil {
				t.Skipf("SKIPPED: nothing installed runs the %s recipes of docs/export.md: duckdb, or @duckdb/node-api for "+
					"Node, and pandas", language)
			}
			said := ""
			for _, r := range recipes {
				code, _, _ := strings.Cut(r, "```")
				cmd := exec.CommandContext(t.Context(), c.run[0], append(c.run[1:], code)...)
				cmd.Dir = dir
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%v:\n%s\n%s", err, code, out)
				}
				said += string(out)
			}
			if !strings.Contains(said, c.says) {
				t.Errorf("no recipe names %s:\n%s", c.says, said)
			}
		})
	}
}
