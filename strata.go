package strata

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/nsys"
	"github.com/llmstrata/strata/trace/pftrace"
	"github.com/llmstrata/strata/trace/rocprof"
	"github.com/llmstrata/strata/trace/xplane"
)

// Formats returns the formats that [Open] reads. The slice is the caller's, who
// may add to it and pass it in [Options].
func Formats() []trace.Format {
	return slices.Concat(rocprof.Formats(), []trace.Format{trace.Kineto(), xplane.Format(), pftrace.Format()},
		nsys.Formats())
}

// Options say what [Open] reads. The zero value reads everything of one rank.
type Options struct {
	// Trace says what is read of each file. Formats are [Formats] where it has
	// none.
	Trace trace.Options
	// AllRanks reads every rank of a directory, not the lowest alone.
	AllRanks bool
	// MaxFiles is how many files are read at most, for programs that look at
	// one. Zero: no limit.
	MaxFiles int
	// Stdin is read for "-". Nil: os.Stdin.
	Stdin io.Reader
	// Progress is called with the progress of each file, from several goroutines. It may be nil.
	Progress func(path string, p trace.Progress)

	archives map[string]string // by the directory that each was unpacked to
}

// Recording is what one or several files say about one run.
type Recording struct {
	// Name is what was opened.
	Name string
	// Parts are the traces that were read, of a directory by stage, then rank.
	// There is at least one.
	Parts []Part
	// NotRead are the files that were found beside them and not read, with why.
	NotRead []Part
}

// Part is one trace of a recording. The rank and stage of its File are what its
// name says: hints, weaker than what the trace holds.
type Part struct {
	trace.File
	Trace *trace.Trace // never nil in [Recording.Parts], nil in NotRead
	// Why a file was not read, worded to follow its path.
	Why string
	// Archive is the zip or tar that the file was unpacked from, "" for none. Its path is then gone once it is read.
	Archive string
	member  string // its path in the archive
}

// Shown is the file as its user knows it: one of an archive is called as it is there.
func (p *Part) Shown() string {
	if p.Archive == "" {
		return p.Path
	}
	return p.Archive + ":" + p.member
}

// Open reads the recording at path: a file, a directory, a pattern such as
// run/*.json.gz, or "-" for the standard input. What a file is, its content
// decides; compressed files and pipes are read as they are, and an archive of several
// files, a zip or tar, as a directory; run.zip:rank0.json.gz is one file of it. Of a directory it
// reads one rank with each of its stages; looking through
// it starts no other program. A file that is no trace is refused with
// [trace.ErrFormat] and what it seems to be.
func Open(ctx context.Context, path string, o Options) (*Recording, error) {
	if path == "-" {
		return o.openStdin(ctx)
	}
	if url := strings.ToLower(path); strings.HasPrefix(url, "http://") || strings.HasPrefix(url, "https://") {
		return nil, fmt.Errorf("strata: %s: %w: it is a URL; download it: curl -fLO %s", path, trace.ErrFormat,
			shellQuote(path))
	}
	info, err := os.Stat(path)
	archive, _ := splitMember(path)
	switch {
	case archive != "":
	case err == nil && info.IsDir():
		return o.openDir(ctx, path)
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?["):
		paths, gerr := filepath.Glob(path)
		if gerr != nil || len(paths) == 0 {
			return nil, fmt.Errorf("strata: %w: no file matches %s", trace.ErrNoTrace, path)
		}
		rec, err := OpenFiles(ctx, paths, o)
		if err == nil {
			rec.Name = path
		}
		return rec, err
	case err != nil:
		return nil, fmt.Errorf("strata: %w", err)
	}
	if rec, is, err := o.openArchive(ctx, path); is {
		return rec, err
	}
	return OpenFiles(ctx, []string{path}, o)
}

// OpenFiles reads several files, such as the ranks of a run, in this order. They may be directories, archives or files
// of archives, as [Open] has them.
func OpenFiles(ctx context.Context, paths []string, o Options) (*Recording, error) {
	files := make([]trace.File, 0, len(paths))
	o.archives = map[string]string{}
	for _, p := range paths {
		archive, member := splitMember(p)
		var members []string
		if archive != "" {
			p, members = archive, []string{member}
		}
		u, is, err := o.unpack(ctx, p, members...)
		if err != nil {
			return nil, err
		}
		if is {
			defer u.remove()
			o.archives[u.dir], p = p, filepath.Join(u.dir, member)
		}
		list, err := trace.ListFiles(p, o.formats()...)
		if err != nil {
			return nil, fmt.Errorf("strata: %w", err)
		}
		files = append(files, list...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("strata: %w: no file is named", trace.ErrNoTrace)
	}
	return o.read(ctx, strings.Join(paths, " "), files, files)
}

func (o *Options) formats() []trace.Format {
	if o.Trace.Formats != nil {
		return o.Trace.Formats
	}
	return Formats()
}

func (o *Options) openStdin(ctx context.Context) (*Recording, error) {
	in := o.Stdin
	if in == nil {
		in = os.Stdin
	}
	part := Part{File: trace.File{Path: "-", Rank: -1}}
	var err error
	if part.Trace, err = trace.Read(ctx, in, o.of("-", 1)); err != nil {
		return nil, fmt.Errorf("standard input: %w", err)
	}
	return &Recording{Name: "-", Parts: []Part{part}}, nil
}

// openDir reads what [trace.ChooseFiles] takes of a directory.
func (o *Options) openDir(ctx context.Context, dir string) (*Recording, error) {
	found, err := trace.ListFiles(dir, o.formats()...)
	if err != nil {
		return nil, err
	}
	files := slices.DeleteFunc(slices.Clone(found), func(f trace.File) bool { return f.External })
	if len(files) == 0 {
		return nil, fmt.Errorf("strata: %w in %s that can be read without another program: name %s itself to have it "+
			"exported", trace.ErrNoTrace, dir, found[0].Path)
	}
	return o.read(ctx, dir, found, trace.ChooseFiles(dir, files, o.AllRanks))
}

// read loads the chosen ones of the files that were found.
func (o *Options) read(ctx context.Context, name string, found, chosen []trace.File) (*Recording, error) {
	if o.MaxFiles > 0 && len(chosen) > o.MaxFiles {
		chosen = chosen[:o.MaxFiles]
	}
	rec := &Recording{Name: name, Parts: make([]Part, len(chosen))}
	for _, f := range found {
		if !slices.ContainsFunc(chosen, func(c trace.File) bool { return c.Path == f.Path }) {
			left := o.part(f)
			left.Why = why(f, chosen)
			rec.NotRead = append(rec.NotRead, left)
		}
	}
	g, ctx := errgroup.WithContext(ctx)
	atOnce := min(runtime.GOMAXPROCS(0), len(chosen))
	g.SetLimit(atOnce)
	for i, f := range chosen {
		g.Go(func() (err error) {
			rec.Parts[i], err = o.open(ctx, f, atOnce)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return rec, nil
}

// of are the options of one file of so many that are read at once.
func (o *Options) of(path string, atOnce int) trace.Options {
	t := o.Trace
	t.Formats = o.formats()
	if t.Concurrency == 0 && atOnce > 1 {
		t.Concurrency = max(1, runtime.GOMAXPROCS(0)/atOnce)
	}
	if o.Progress != nil {
		t.Progress = func(p trace.Progress) { o.Progress(path, p) }
	}
	return t
}

// AnotherRank is why a file of another rank than the one that is read was not.
const AnotherRank = "another rank"

// why says why a file was not chosen.
func why(f trace.File, chosen []trace.File) string {
	same := func(pass func(c trace.File) bool) bool { return slices.ContainsFunc(chosen, pass) }
	switch {
	case f.External:
		return "it is read only where it is named, by another program"
	case f.Merged:
		return "it holds all ranks once more"
	case f.Partial:
		return "it was not written to its end"
	case !same(func(c trace.File) bool { return c.Rank == f.Rank }):
		return AnotherRank
	case same(func(c trace.File) bool { return c.Rank == f.Rank && c.Stage == f.Stage && c.ModTime.Before(f.ModTime) }):
		return "in another directory"
	case same(func(c trace.File) bool { return c.Rank == f.Rank && c.Stage == f.Stage }):
		return "not the newest recording"
	case f.Stage == "":
		return "its name says no stage"
	}
	return "another stage"
}
