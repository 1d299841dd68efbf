package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
)

func init() {
	register.DoFn3x1[context.Context, []byte, func(string, []byte), error](&digestFn{})
	register.DoFn3x2[context.Context, string, func(*[]byte) bool, []byte, error](&runFn{})
	register.DoFn3x1[context.Context, int, func(*[]byte) bool, error](&reportFn{})
	register.Emitter2[string, []byte]()
	register.Iter1[[]byte]()
}

// job is a file to read.
type job struct {
	Run  string
	File trace.File
}

// pipeline is files → digests → recordings → one report.
func pipeline(ctx context.Context, input, output string, full bool) (*beam.Pipeline, error) {
	jobs, err := list(ctx, input)
	if err != nil {
		return nil, err
	}
	p, s := beam.NewPipelineWithRoot()
	files := beam.Reshuffle(s, beam.CreateList(s, jobs))
	digests := beam.ParDo(s, &digestFn{}, files)
	runs := beam.ParDo(s, &runFn{}, beam.GroupByKey(s, digests))
	beam.ParDo0(s, &reportFn{Output: output, Full: full}, beam.GroupByKey(s, beam.AddFixedKey(s, runs)))
	return p, nil
}

// list finds the traces of a pattern or folder and divides them into recordings, as strata fleet does.
func list(ctx context.Context, input string) ([][]byte, error) {
	root := input
	if strings.ContainsAny(input, "*?[") {
		root = input[:strings.IndexAny(input, "*?[")]
		root = strings.TrimSuffix(root[:strings.LastIndex(root, "/")+1], "/")
	} else {
		input = strings.TrimSuffix(input, "/") + "/**"
	}
	fs, err := filesystem.New(ctx, input)
	if err != nil {
		return nil, err
	}
	defer fs.Close()
	paths, err := fs.List(ctx, input)
	if err != nil {
		return nil, err
	}
	var files []trace.File
	for _, p := range paths {
		if !traceName(p) {
			continue
		}
		says := framework.ReadFileName(framework.All(), p)
		f := trace.File{Path: p, Rank: says.Rank, Stage: says.Stage}
		if m, ok := fs.(filesystem.LastModifiedGetter); ok {
			if f.ModTime, err = m.LastModified(ctx, p); err != nil {
				return nil, err
			}
		}
		files = append(files, f)
	}
	var jobs [][]byte
	for _, r := range trace.Recordings(root, files) {
		for _, f := range r.Files {
			one, err := json.Marshal(job{r.Name, f})
			if err != nil {
				return nil, err
			}
			jobs = append(jobs, one)
		}
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("%w in %s", trace.ErrNoTrace, input)
	}
	return jobs, nil
}

// traceName reports whether a file is named as a trace is.
func traceName(p string) bool {
	for _, f := range strata.Formats() {
		if !f.External && framework.Ends(strings.ToLower(path.Base(p)), f.Suffixes) {
			return true
		}
	}
	return false
}

// digestFn makes the digests of one file.
type digestFn struct{}

func (*digestFn) ProcessElement(ctx context.Context, in []byte, emit func(string, []byte)) error {
	var j job
	if err := json.Unmarshal(in, &j); err != nil {
		return err
	}
	list, err := digest(ctx, j)
	if err != nil {
		return err
	}
	for i := range list {
		var b bytes.Buffer
		if err := list[i].Write(&b); err != nil {
			return err
		}
		emit(j.Run, b.Bytes())
	}
	return nil
}

// digest reads a file where it lies, or a copy of one that lies elsewhere.
func digest(ctx context.Context, j job) ([]fleet.Rank, error) {
	o := strata.DigestOptions{Open: strata.Options{Trace: trace.Options{Concurrency: 1}}}
	if _, err := os.Stat(j.File.Path); err == nil {
		return o.Digest(ctx, j.Run, j.File)
	}
	dir, err := os.MkdirTemp("", "fleet-beam-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	local := filepath.Join(dir, path.Base(j.File.Path))
	if err := fetch(ctx, j.File.Path, local); err != nil {
		return []fleet.Rank{hostoverhead.BadRank(j.Run, j.File, err)}, ctx.Err()
	}
	j.File.Path = local
	return o.Digest(ctx, j.Run, j.File)
}

func fetch(ctx context.Context, from, to string) (err error) {
	fs, err := filesystem.New(ctx, from)
	if err != nil {
		return err
	}
	defer fs.Close()
	in, err := fs.OpenRead(ctx, from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// runFn combines the digests of one recording.
type runFn struct{}

func (*runFn) ProcessElement(_ context.Context, _ string, next func(*[]byte) bool) ([]byte, error) {
	var ranks []fleet.Rank
	var one []byte
	for next(&one) {
		if err := fleet.Read(bytes.NewReader(one), func(r fleet.Rank) error {
			ranks = append(ranks, r)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fleet.OfRun(ranks))
}

// reportFn combines the recordings and writes the report.
type reportFn struct {
	Output string
	Full   bool
}

func (f *reportFn) ProcessElement(ctx context.Context, _ int, next func(*[]byte) bool) error {
	var runs []fleet.Run
	var one []byte
	for next(&one) {
		var r fleet.Run
		if err := json.Unmarshal(one, &r); err != nil {
			return err
		}
		runs = append(runs, r)
	}
	fs, err := filesystem.New(ctx, f.Output)
	if err != nil {
		return err
	}
	defer fs.Close()
	out, err := fs.OpenWrite(ctx, f.Output)
	if err != nil {
		return err
	}
	return errors.Join(app.WriteJSON(out, fleet.Combine(runs, fleet.Options{Full: f.Full})), out.Close())
}
