package triage

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/trace"
)

// ErrDiffusers reports that a log beside the trace says the server ran a model
// through the diffusers backend, whose kernels no registry knows.
var ErrDiffusers = errors.New("triage: the server fell back to the diffusers backend")

// Opener loads the trace at a path. [trace.Open] is one.
type Opener func(ctx context.Context, path string) (*trace.Trace, error)

// Load finds the traces of a file or profile directory (see [Find]), opens
// them, and reads what the server said about itself beside them.
func Load(ctx context.Context, path string, open Opener) ([]Source, Server, error) {
	files, err := Find(path)
	if err != nil {
		return nil, Server{}, err
	}
	if err := diffusionGate(files); err != nil {
		return nil, Server{}, err
	}
	var out []Source
	for _, f := range files {
		t, err := open(ctx, f)
		if err != nil {
			return nil, Server{}, fmt.Errorf("triage: %s: %w", f, err)
		}
		out = append(out, Source{Trace: t, Path: f, Stage: StageFromPath(f)})
	}
	server, err := findServer(files)
	return out, server, err
}

// Find returns the traces to read for a path: the file itself, or of a
// directory one rank's trace for each stage.
//
// Of a directory it takes the traces directly inside; else, where files below
// carry stage names, all of those; else those of the newest directory that has
// traces. Files named merged-* count only where there is nothing else. Of
// several ranks it takes rank 0, else the lowest; of several files of a stage
// the newest.
func Find(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("triage: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	var all []candidate
	err = filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // an unreadable corner is not a reason to stop
		}
		if d.IsDir() || !isTraceName(d.Name()) {
			return nil
		}
		info, err := d.Info()
		if err != nil || info.Size() == 0 {
			return nil
		}
		rel, _ := filepath.Rel(path, p)
		all = append(all, candidate{path: p, dir: filepath.Dir(p), changed: info.ModTime(), stage: StageFromPath(rel),
			rank: rankOf(filepath.Base(p)), merged: strings.HasPrefix(filepath.Base(p), "merged-"), certain: hasTraceSuffix(p)})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("triage: %w", err)
	}
	all = slices.DeleteFunc(all, func(c candidate) bool { return !c.certain && !holdsEvents(c.path) })
	all = prefer(all, func(c candidate) bool { return !c.merged })
	if len(all) == 0 {
		return nil, fmt.Errorf("triage: no trace found in %s (looked for *.trace.json, *.pt.trace.json and other *.json with events, also .gz and .zst, and *.sqlite)", path)
	}
	root := filepath.Clean(path)
	inside := func(c candidate) bool { return c.dir == root }
	switch {
	case slices.ContainsFunc(all, inside):
		all = prefer(all, inside)
	case slices.ContainsFunc(all, func(c candidate) bool { return c.stage != "" }):
		all = prefer(all, func(c candidate) bool { return c.stage != "" })
	default:
		newest := slices.MaxFunc(all, byChange)
		all = prefer(all, func(c candidate) bool { return c.dir == newest.dir })
	}
	lowest := slices.MinFunc(all, func(a, b candidate) int { return slices.Compare(a.rank, b.rank) })
	all = prefer(all, func(c candidate) bool { return slices.Equal(c.rank, lowest.rank) })
	all = prefer(all, func(c candidate) bool { return c.stage != "" })
	newest := map[string]candidate{}
	for _, c := range all {
		if old, ok := newest[c.stage]; !ok || byChange(old, c) < 0 {
			newest[c.stage] = c
		}
	}
	var out []string
	for _, s := range []string{StageExtend, StageDecode, ""} {
		if c, ok := newest[s]; ok {
			out = append(out, c.path)
		}
	}
	return out, nil
}

// candidate is a file that may be a trace.
type candidate struct {
	path, dir string
	changed   time.Time
	stage     string
	rank      []int
	merged    bool
	certain   bool
}

func byChange(a, b candidate) int {
	return cmp.Or(a.changed.Compare(b.changed), cmp.Compare(a.path, b.path))
}

// prefer returns the candidates that are good, or all where none is.
func prefer(all []candidate, good func(candidate) bool) []candidate {
	var out []candidate
	for _, c := range all {
		if good(c) {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return all
	}
	return out
}

// neverTraces are JSON files that servers put beside traces.
var neverTraces = set("server_args.json", "metadata.json", "config.json")

// isTraceName reports whether a file's name may be that of a trace.
func isTraceName(name string) bool {
	n := strings.ToLower(name)
	if strings.HasSuffix(n, ".sqlite") {
		return true
	}
	n = strings.TrimSuffix(strings.TrimSuffix(n, ".gz"), ".zst")
	return strings.HasSuffix(n, ".json") && !neverTraces[n]
}

func hasTraceSuffix(path string) bool {
	n := strings.ToLower(path)
	n = strings.TrimSuffix(strings.TrimSuffix(n, ".gz"), ".zst")
	return strings.HasSuffix(n, ".trace.json") || strings.HasSuffix(n, ".sqlite")
}

// sniffLen is how much of a JSON file is searched for trace events. Kineto
// writes some properties first; the longest of the sample traces are 4 kB.
const sniffLen = 256 << 10

// holdsEvents looks for trace events near the beginning of a JSON file.
func holdsEvents(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var r io.Reader = bufio.NewReader(f)
	if head, _ := r.(*bufio.Reader).Peek(4); bytes.HasPrefix(head, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(r)
		if err != nil {
			return false
		}
		r = z
	} else if bytes.Equal(head, []byte{0x28, 0xb5, 0x2f, 0xfd}) {
		return true // zstd: opening it will tell
	}
	head, _ := io.ReadAll(io.LimitReader(r, sniffLen))
	if bytes.Contains(head, []byte(`"traceEvents"`)) {
		return true
	}
	return bytes.HasPrefix(bytes.TrimSpace(head), []byte("[")) && bytes.Contains(head, []byte(`"ph"`))
}

// rankWords finds the parallel coordinates in a file name: TP-0, rank0,
// worker1, dp0_pp0_tp0_….
var rankWords = regexp.MustCompile(`(?i)(?:^|[^a-z])(rank|worker|dp|pp|tp|ep)[-_ ]?([0-9]{1,6})`)

// rankOf returns the coordinates that a file name tells, in a fixed order; nil
// where it tells none.
func rankOf(name string) []int {
	found := map[string]int{}
	for _, m := range rankWords.FindAllStringSubmatch(name, -1) {
		if n, err := strconv.Atoi(m[2]); err == nil {
			found[strings.ToLower(m[1])] = n
		}
	}
	var out []int
	for _, k := range []string{"rank", "worker", "dp", "pp", "tp", "ep"} {
		if n, ok := found[k]; ok {
			out = append(out, n)
		}
	}
	return out
}

// diffusersSigns are log lines of a server that runs no kernels of its own.
var diffusersSigns = [][]byte{
	[]byte("Falling back to diffusers backend"), []byte("Using diffusers backend"), []byte("Loaded diffusers pipeline"),
}

// Bounds on the logs that are read: what matters is printed at startup.
const (
	maxLogs    = 32
	maxLogRead = 16 << 20
)

// diffusionGate looks into the logs beside the traces.
func diffusionGate(files []string) error {
	seen := map[string]bool{}
	for _, f := range files {
		dir := filepath.Dir(f)
		if seen[dir] {
			continue
		}
		seen[dir] = true
		logs, _ := filepath.Glob(filepath.Join(dir, "*.log"))
		for _, log := range logs[:min(len(logs), maxLogs)] {
			r, err := os.Open(log)
			if err != nil {
				continue
			}
			data, _ := io.ReadAll(io.LimitReader(r, maxLogRead))
			r.Close()
			for _, sign := range diffusersSigns {
				if bytes.Contains(data, sign) {
					return fmt.Errorf("%w: %s says %q", ErrDiffusers, log, sign)
				}
			}
		}
	}
	return nil
}
