package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"

	"github.com/llmstrata/strata/internal/table"
)

// ranksResult is what was measured on a directory of ranks.
type ranksResult struct {
	n int64 // files, each of fileResult.size
	fileResult
}

// markdown renders the section of the directory, if there was one.
func (r *ranksResult) markdown(b *bytes.Buffer) error {
	if r.n == 0 {
		return nil
	}
	fmt.Fprintf(b, "\n## A directory of %d ranks of %s\n\n%s events in all, as gzip %s bytes. Every rank is loaded "+
		"with everything, looked at, and dropped; memory is that of the ranks in flight.\n\n",
		r.n, r.size, table.Count(r.events), table.Count(r.packedBytes))
	t := table.New(table.Text("What"), table.Number("Time (s)"), table.Number("Spread"), table.Number("s/rank"),
		table.Number("Peak memory"))
	for _, x := range r.rows {
		t.Row(x.name, table.Seconds(x.took, 3), x.spreadText(),
			table.Fixed(x.took.Seconds()/float64(r.n), 4), x.memory())
	}
	return t.WriteMarkdown(b)
}

// measureRanks generates a directory of n ranks and loads all of them, one at a
// time and several at a time.
func (b *bench) measureRanks(ctx context.Context, n int, size string) (ranksResult, error) {
	r := ranksResult{n: int64(n), fileResult: fileResult{size: size}}
	dir := filepath.Join(b.dir, "ranks")
	if err := os.Mkdir(dir, 0o777); err != nil {
		return r, err
	}
	defer os.RemoveAll(dir)
	fmt.Fprintf(b.log, "%d ranks: writing %s of each\n", n, size)
	var paths []string
	for rank := range n {
		path := filepath.Join(dir, fmt.Sprintf("rank-%d.trace.json.gz", rank))
		cmd := exec.CommandContext(ctx, filepath.Join(b.dir, "tracegen"), "-size", size, "-seed", strconv.Itoa(rank+1),
			"-o", path)
		if out, err := cmd.CombinedOutput(); err != nil {
			return r, fmt.Errorf("tracegen -size %s: %w\n%s", size, err, out)
		}
		info, err := os.Stat(path)
		if err != nil {
			return r, err
		}
		r.packedBytes += info.Size()
		paths = append(paths, path)
	}
	var list []contender
	for _, inFlight := range []int{1, runtime.NumCPU()} {
		name := everything // whose events are counted
		if inFlight > 1 {
			name = fmt.Sprintf("strata, %d ranks at a time", inFlight)
		}
		argv := append([]string{filepath.Join(b.dir, "loadtrace"), "-inflight", strconv.Itoa(inFlight)}, paths...)
		list = append(list, contender{name, "gz", argv, true})
	}
	err := b.turns(ctx, list, &r.fileResult)
	for i := range r.rows {
		if r.rows[i].name == everything {
			r.rows[i].name = "strata, one rank at a time"
		}
	}
	return r, err
}
