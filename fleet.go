package strata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
)

// Ranks are the files of one or several recordings, found and not yet read.
type Ranks struct {
	// Name is what was opened. Recordings are by time, the newest first.
	Name       string
	Recordings []trace.Recording
	// Digests are files of digests that were named beside traces.
	Digests []string

	paths    []string // several are folders, whose names separate recordings
	remove   []func()
	archives map[string]string // by the directory that each was unpacked to
}

// Close removes what archives were unpacked to.
func (r *Ranks) Close() {
	for _, remove := range r.remove {
		remove()
	}
}

// Part is a file of the ranks, with the archive that it was unpacked from.
func (r *Ranks) Part(f trace.File) Part {
	return (&Options{archives: r.archives}).part(f)
}

// Files is the number of traces.
func (r *Ranks) Files() (n int) {
	for i := range r.Recordings {
		n += len(r.Recordings[i].Files)
	}
	return n
}

// digestSuffix is that of files of digests.
const digestSuffix = ".ndjson"

// FindRanks looks through directories, archives, patterns and files for the traces of ranks and their digests, which
// end in .ndjson. It reads none of them. The caller must close the result.
func FindRanks(ctx context.Context, paths []string, o Options) (*Ranks, error) {
	r := &Ranks{Name: strings.Join(paths, " "), paths: paths}
	var named []trace.File           // one by one: of one folder
	members := map[string][]string{} // by their archive
	for _, path := range paths {
		if archive, member := splitMember(path); archive != "" {
			if !slices.Contains(members[archive], member) {
				members[archive] = append(members[archive], member)
			}
		}
	}
	for _, path := range paths {
		archive, _ := splitMember(path)
		list, left := members[archive]
		if archive != "" && (!left || slices.Contains(paths, archive)) {
			continue // it is read with the archive
		}
		delete(members, archive)
		if err := r.find(ctx, cmp.Or(archive, path), list, &o, &named); err != nil {
			r.Close()
			return nil, err
		}
	}
	if len(named) > 0 {
		root := filepath.Dir(named[0].Path)
		for _, f := range named[1:] {
			for root != "." && root != filepath.Dir(root) &&
				!strings.HasPrefix(f.Path, root+string(filepath.Separator)) {
				root = filepath.Dir(root)
			}
		}
		r.Recordings = append(r.Recordings, trace.Recordings(root, named)...)
	}
	return r, nil
}

// find looks at a path; members are those of an archive, nil for all.
func (r *Ranks) find(ctx context.Context, path string, members []string, o *Options, named *[]trace.File) error {
	info, err := os.Stat(path)
	switch {
	case path == "-":
		return errors.New("strata: ranks are not read from the standard input: name files or directories")
	case errors.Is(err, fs.ErrNotExist) && strings.ContainsAny(path, "*?["):
		found, gerr := filepath.Glob(path)
		if gerr != nil || len(found) == 0 {
			return fmt.Errorf("strata: %w: no file matches %s", trace.ErrNoTrace, path)
		}
		for _, p := range found {
			if err := r.find(ctx, p, nil, o, named); err != nil {
				return err
			}
		}
		return nil
	case err != nil:
		return fmt.Errorf("strata: %w", err)
	case !info.IsDir() && strings.HasSuffix(path, digestSuffix):
		r.Digests = append(r.Digests, path)
		return nil
	}
	dir := path
	if !info.IsDir() {
		u, is, err := o.unpack(ctx, path, members...)
		if err != nil {
			return err
		}
		if !is {
			if len(members) > 0 {
				path += ":" + members[0] // there is no such file
			}
			files, err := trace.ListFiles(path, o.formats()...)
			*named = append(*named, files...)
			return err
		}
		r.remove = append(r.remove, u.remove)
		if r.archives == nil {
			r.archives = map[string]string{}
		}
		dir, r.archives[u.dir] = u.dir, path
	}
	digests, err := filepath.Glob(filepath.Join(dir, "*"+digestSuffix))
	if err != nil {
		return err
	}
	r.Digests = append(r.Digests, digests...)
	files := make([]trace.File, 0, len(members))
	for _, m := range append(members, "")[:max(1, len(members))] {
		list, err := trace.ListFiles(filepath.Join(dir, m), o.formats()...)
		if errors.Is(err, trace.ErrNoTrace) && len(digests) > 0 {
			return nil
		}
		if err != nil {
			return err
		}
		files = append(files, list...)
	}
	for _, rec := range trace.Recordings(dir, files) {
		if len(r.paths) > 1 {
			rec.Name = strings.Trim(filepath.Base(path)+"/"+rec.Name, "/")
		}
		r.Recordings = append(r.Recordings, rec)
	}
	return nil
}

// DigestOptions say how digests are made. The zero value reads everything, as many files at once as there are
// processors.
type DigestOptions struct {
	// Open says how traces are read, Layers what is known about the model.
	Open   Options
	Layers layer.Options
	// Commit and Date are written into the digests, for trends.
	Commit, Date string
	// Keep is a directory for digests: a file whose digest there is newer is not read again. "": none.
	Keep string
	// Shard and Shards leave all files out but every Shards-th, beginning with number Shard. Shards 0: none are left
	// out.
	Shard, Shards int
	// Progress is called after each file with the number of files that are done and of all. It may be nil.
	Progress func(done, total int)

	// Analyzed is called for each trace before it is released, from several goroutines. It may be nil.
	Analyzed func(ctx context.Context, f trace.File, a *layer.Analysis) error

	// digest makes the digests of one file; nil: [Digest] of what it holds.
	digest func(ctx context.Context, run string, f trace.File) ([]fleet.Rank, error)
}

// job is a file to read.
type job struct {
	run  int
	name string
	file trace.File
}

// EachRun makes the digests of all files and gives take those of each recording together, one recording after the
// other, in the order of ranks. A file that cannot be read is a digest that says why. Memory follows the files that
// are read at the same time, and the digests of one recording.
func (r *Ranks) EachRun(ctx context.Context, o DigestOptions, take func([]fleet.Rank) error) error {
	o.Open.archives = r.archives
	var jobs []job
	n := 0
	left := make([]int, len(r.Recordings))
	for i := range r.Recordings {
		for _, f := range r.Recordings[i].Files {
			if n++; o.Shards <= 1 || (n-1)%o.Shards == o.Shard {
				jobs = append(jobs, job{i, r.Recordings[i].Name, f})
				left[i]++
			}
		}
	}
	var mu sync.Mutex
	done, next := 0, 0
	sets := make([]fleet.Set, len(r.Recordings))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	if o.Open.Trace.Concurrency == 0 && len(jobs) > 1 {
		o.Open.Trace.Concurrency = 1
	}
	for _, j := range jobs {
		g.Go(func() error {
			list, err := o.ranksOf(ctx, j)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			sets[j.run].Add(list...)
			if done++; o.Progress != nil {
				o.Progress(done, len(jobs))
			}
			left[j.run]--
			for ; next < len(left) && left[next] == 0; next++ { // in their order
				if ranks := sets[next].Ranks(); len(ranks) > 0 {
					sets[next] = fleet.Set{}
					if err := take(ranks); err != nil {
						return err
					}
				}
			}
			return nil
		})
	}
	return g.Wait()
}

// ranksOf are the digests of one file: those that are kept, where they are newer than the file.
func (o *DigestOptions) ranksOf(ctx context.Context, j job) (list []fleet.Rank, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	kept := ""
	if o.Keep != "" {
		kept = filepath.Join(o.Keep, url.PathEscape(j.name+"/"+filepath.Base(j.file.Path))+digestSuffix)
		if info, err := os.Stat(kept); err == nil && info.ModTime().After(j.file.ModTime) {
			if err := readDigests(kept, func(r fleet.Rank) error { list = append(list, r); return nil }); err == nil &&
				len(list) > 0 {
				return list, nil
			}
			list = nil // one that is damaged is made again
		}
	}
	if list, err = o.Digest(ctx, j.name, j.file); err != nil || kept == "" || list[0].Bad != "" {
		return list, err
	}
	if err := os.MkdirAll(o.Keep, 0o777); err != nil {
		return nil, err
	}
	return list, atomicfile.Write(kept, 0o666, func(w io.Writer) error { return WriteDigests(w, list) })
}

// WriteDigests writes digests as NDJSON.
func WriteDigests(w io.Writer, list []fleet.Rank) error {
	for i := range list {
		if err := list[i].Write(w); err != nil {
			return err
		}
	}
	return nil
}

// Digest makes the digests of one file of a recording, and releases it. A file that cannot be read has a digest that
// says why; the error is ctx's.
func (o *DigestOptions) Digest(ctx context.Context, run string, f trace.File) ([]fleet.Rank, error) {
	digest := o.digest
	if digest == nil {
		digest = o.digestFile
	}
	list, err := digest(ctx, run, f)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		if s := (shownError{}); errors.As(err, &s) {
			err = s.error // which calls the file as f does
		}
		list = []fleet.Rank{hostoverhead.BadRank(run, f, err)}
	}
	for i := range list {
		list[i].Commit, list[i].Date = o.Commit, o.Date
	}
	return list, nil
}

func (o *DigestOptions) digestFile(ctx context.Context, run string, f trace.File) ([]fleet.Rank, error) {
	p, err := o.Open.open(ctx, f, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	a, err := layer.AnalyzeAnyway(ctx, p.Trace, o.Layers)
	if err != nil {
		return nil, err
	}
	if o.Analyzed != nil {
		if err := o.Analyzed(ctx, f, a); err != nil {
			return nil, err
		}
	}
	return hostoverhead.Digest(ctx, run, f, a)
}

func readDigests(path string, take func(fleet.Rank) error) error {
	f, err := atomicfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := fleet.Read(f, take); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Fleet combines all ranks: what its traces hold, and the digests that were made before.
func (r *Ranks) Fleet(ctx context.Context, o DigestOptions, c fleet.Options) (*fleet.Report, error) {
	var runs []fleet.Run
	before := map[string]*fleet.Set{} // digests that shards wrote
	for _, path := range r.Digests {
		if err := readDigests(path, func(one fleet.Rank) error {
			set := before[one.Run]
			if set == nil {
				set = &fleet.Set{}
				before[one.Run] = set
			}
			set.Add(one)
			return ctx.Err()
		}); err != nil {
			return nil, err
		}
	}
	err := r.EachRun(ctx, o, func(list []fleet.Rank) error {
		if set := before[list[0].Run]; set != nil {
			set.Add(list...)
			return nil
		}
		runs = append(runs, fleet.OfRun(list))
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, set := range before {
		runs = append(runs, fleet.OfRun(set.Ranks()))
	}
	slices.SortFunc(runs, func(a, b fleet.Run) int { return cmp.Compare(a.Run, b.Run) })
	return fleet.Combine(runs, c), nil
}
