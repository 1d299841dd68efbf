package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/table"
)

// pythonQueries is the script with the queries of the published Python scripts,
// from the module's root.
const pythonQueries = "trace/nsys/testdata/reference_queries.py"

// pythonExport is what the page calls them.
const pythonExport = "Python sqlite3, the published scripts' queries"

// exportResult is what was measured on one generated nsys export.
type exportResult struct {
	fileResult
	stats nsysgen.Stats
	bytes int64
}

// measureExport generates an nsys export and loads it in turns with Python.
func (b *bench) measureExport(ctx context.Context, kernels int) (exportResult, error) {
	r := exportResult{fileResult: fileResult{size: fmt.Sprintf("nsys, %d kernels", kernels)}}
	path := filepath.Join(b.dir, "export.sqlite")
	defer os.Remove(path)
	fmt.Fprintf(b.log, "%s: writing %s\n", r.size, filepath.Base(path))
	var err error
	if r.stats, err = nsysgen.Write(path, nsysgen.Large(1, kernels)); err != nil {
		return r, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return r, err
	}
	r.bytes = info.Size()
	load := filepath.Join(b.dir, "loadtrace")
	list := []contender{
		{everything, "sqlite", []string{load, path}, true},
		{"strata, GPU activities and launches", "sqlite", []string{load, "-lanes", "gpu", path}, true},
	}
	if _, err := exec.LookPath("python3"); err == nil {
		list = append(list, contender{pythonExport, "sqlite", []string{"python3", pythonQueries, path}, true})
	}
	err = b.turns(ctx, list, &r.fileResult)
	return r, err
}

// markdown renders the section of one export.
func (r *exportResult) markdown(b *bytes.Buffer) error {
	fmt.Fprintf(b, "\n## Nsight Systems export: %s kernels, %s API calls, %s NVTX ranges\n\n%s bytes of SQLite. Python "+
		"runs `%s`: the three queries alone, nothing is analysed. strata reads the same rows, sorts them and links "+
		"launches to kernels.\n\n",
		table.Count(int64(r.stats.Kernels)), table.Count(int64(r.stats.Calls)), table.Count(int64(r.stats.Ranges)),
		table.Count(r.bytes), pythonQueries)
	t := table.New(table.Text("What"), table.Number("Time (s)"), table.Number("Spread"), table.Number("ns/row"),
		table.Number("Peak memory"), table.Number("Python's time"), table.Number("Python's memory"))
	for _, x := range r.rows {
		times, memory := x.against(r.find(pythonExport, x.file))
		perRow := table.None
		if r.events > 0 {
			perRow = table.Fixed(float64(x.took.Nanoseconds())/float64(r.events), 1)
		}
		t.Row(x.name, table.Seconds(x.took, 3), x.spreadText(), perRow, x.memory(), times, memory)
	}
	return t.WriteMarkdown(b)
}
