// Package tables writes digests of ranks as Parquet tables of runs, ranks, steps, operators and collectives.
package tables

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/parquet-go/parquet-go"
	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"

	"github.com/llmstrata/strata/layer/fleet"
)

// Run is a row of runs.parquet: one recording.
type Run struct {
	Run     string `parquet:"run,dict"`
	Commit  string `parquet:"commit,dict"`
	Date    string `parquet:"date,dict"`
	Ranks   int64  `parquet:"ranks"`
	World   int64  `parquet:"world_size"`
	Missing int64  `parquet:"missing"`
	StepNS  int64  `parquet:"step_ns"` // of the median rank
	WaitNS  int64  `parquet:"wait_ns"`
	Late    string `parquet:"late_rank,dict"` // of the first group that has one, "" for none
	Health  string `parquet:"health,dict"`
}

// GPU is what the rows of all tables but runs begin with: one GPU of one recording.
type GPU struct {
	Run    string `parquet:"run,dict"`
	Rank   int64  `parquet:"rank"`
	Device int64  `parquet:"device"`
	Part   string `parquet:"part,dict"`
}

// Rank is a row of ranks.parquet: a GPU.
type Rank struct {
	GPU
	File      string `parquet:"file,dict"`
	Host      string `parquet:"host,dict"`
	Name      string `parquet:"gpu,dict"`
	Model     string `parquet:"model,dict"`
	Framework string `parquet:"framework,dict"`
	Health    string `parquet:"health,dict"`
	Bad       string `parquet:"bad,dict"` // why it could not be read, "" where it could
	Steps     int64  `parquet:"steps"`
}

// Step is a row of steps.parquet. Times of all tables are nanoseconds; unknown counts are −1.
type Step struct {
	GPU
	Step     int64  `parquet:"step"`   // place in the recording, from 0
	Number   int64  `parquet:"number"` // the server's
	Stage    string `parquet:"stage,dict"`
	Tokens   int64  `parquet:"tokens"`
	Requests int64  `parquet:"requests"`
	Partial  bool   `parquet:"partial"`
	StartNS  int64  `parquet:"start_ns"` // Unix time where the clock is known
	WallNS   int64  `parquet:"wall_ns"`
	BusyNS   int64  `parquet:"busy_ns"`
}

// Operator is a row of operators.parquet: the time of one operator, or of one cause of idle time, in one step.
type Operator struct {
	GPU
	Step int64  `parquet:"step"`
	Name string `parquet:"name,dict"`
	Idle bool   `parquet:"idle"` // Name is a cause of idle time
	NS   int64  `parquet:"ns"`
}

// Collective is a row of collectives.parquet.
type Collective struct {
	GPU
	Step    int64  `parquet:"step"`
	Place   int64  `parquet:"place"` // in the step, from 0
	Kind    string `parquet:"kind,dict"`
	Group   string `parquet:"group,dict"` // "" where the trace does not say
	Kernel  string `parquet:"kernel,dict"`
	Bytes   int64  `parquet:"bytes"` // 0 unknown
	StartNS int64  `parquet:"start_ns"`
	NS      int64  `parquet:"ns"`
}

// bucket opens what a path or address lies in, and returns its key there. The bucket of a file here is its folder.
func bucket(ctx context.Context, name string, create bool) (b *blob.Bucket, key string, err error) {
	if u, err := url.Parse(name); err == nil && strings.Contains(name, "://") {
		key, u.Path = strings.TrimPrefix(u.Path, "/"), ""
		b, err = blob.OpenBucket(ctx, u.String())
		return b, key, err
	}
	dir := name
	if strings.HasSuffix(name, digests) {
		dir, key = filepath.Split(name)
	}
	b, err = fileblob.OpenBucket(cmp.Or(dir, "."), &fileblob.Options{CreateDir: create, NoTempDir: true,
		Metadata: fileblob.MetadataDontWrite})
	return b, key, err
}

// digests is how names of files of digests end.
const digests = ".ndjson"

// read gives take the digests of a file, of all files of a folder, or of those that a pattern matches.
func read(ctx context.Context, name string, take func(fleet.Rank) error) error {
	b, key, err := bucket(ctx, name, false)
	if err != nil {
		return err
	}
	defer b.Close()
	if key == "" || !strings.HasSuffix(key, digests) {
		key = path.Join(key, "*"+digests)
	}
	prefix, _, _ := strings.Cut(key, "*")
	none := true
	for list := b.List(&blob.ListOptions{Prefix: prefix}); ; {
		o, err := list.Next(ctx)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if fits, err := path.Match(key, o.Key); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		} else if !fits {
			continue
		}
		r, err := b.NewReader(ctx, o.Key, nil)
		if err != nil {
			return err
		}
		none = false
		if err := errors.Join(fleet.Read(r, take), r.Close()); err != nil {
			return fmt.Errorf("%s: %w", o.Key, err)
		}
	}
	if none {
		return fmt.Errorf("%s: no file of digests (%s)", name, digests)
	}
	return nil
}

// table is one file of rows. Its first error is that of finish, too.
type table[T any] struct {
	rows *parquet.GenericWriter[T]
	file *blob.Writer
	err  error
}

func create[T any](ctx context.Context, b *blob.Bucket, name string) *table[T] {
	f, err := b.NewWriter(ctx, name+".parquet", nil)
	return &table[T]{parquet.NewGenericWriter[T](f, parquet.Compression(&parquet.Zstd)), f, err}
}

func (t *table[T]) add(row T) {
	if t.err == nil {
		_, t.err = t.rows.Write([]T{row})
	}
}

func (t *table[T]) finish(cancel func()) error {
	if t.err == nil {
		t.err = t.rows.Close()
	}
	if t.err != nil {
		cancel() // what is not complete is not stored
	}
	if t.file == nil {
		return t.err
	}
	return cmp.Or(t.err, t.file.Close())
}

// tables are the five files.
type tables struct {
	runs        *table[Run]
	ranks       *table[Rank]
	steps       *table[Step]
	operators   *table[Operator]
	collectives *table[Collective]
}

// Write makes the five tables of files of digests in a folder. Output and files are paths or addresses whose driver the
// program links; a file may be a folder or a pattern. No table is stored if it returns an error.
func Write(ctx context.Context, output string, files []string) error {
	sets := map[string]*fleet.Set{}
	for _, name := range files {
		if err := read(ctx, name, func(r fleet.Rank) error {
			if sets[r.Run] == nil {
				sets[r.Run] = &fleet.Set{}
			}
			sets[r.Run].Add(r)
			return nil
		}); err != nil {
			return err
		}
	}
	b, folder, err := bucket(ctx, output, true)
	if err != nil {
		return err
	}
	if folder != "" {
		b = blob.PrefixedBucket(b, strings.TrimSuffix(folder, "/")+"/")
	}
	defer b.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := tables{create[Run](ctx, b, "runs"), create[Rank](ctx, b, "ranks"), create[Step](ctx, b, "steps"),
		create[Operator](ctx, b, "operators"), create[Collective](ctx, b, "collectives")}
	for _, name := range slices.Sorted(maps.Keys(sets)) {
		t.run(sets[name].Ranks())
	}
	return cmp.Or(t.runs.finish(cancel), t.ranks.finish(cancel), t.steps.finish(cancel), t.operators.finish(cancel),
		t.collectives.finish(cancel))
}

// run writes the rows of one recording.
func (t *tables) run(ranks []fleet.Rank) {
	for i := range ranks {
		t.rank(&ranks[i])
	}
	run := fleet.OfRun(ranks)
	late := ""
	for _, g := range run.Groups {
		if g.Late != nil {
			late = cmp.Or(late, g.Late.Rank)
		}
	}
	t.runs.add(Run{run.Run, run.Commit, run.Date, int64(run.Ranks), int64(run.World), int64(run.NumMissing),
		run.Step.Median, run.Wait.Median, late, string(run.Health)})
}

// rank writes the rows of one rank.
func (t *tables) rank(r *fleet.Rank) {
	gpu := GPU{r.Run, int64(r.Rank), int64(r.Device), r.Part}
	t.ranks.add(Rank{gpu, r.File, r.Host, r.GPU, r.Model, r.Framework, string(r.Health), r.Bad, int64(len(r.Steps))})
	for i := range r.Steps {
		s := &r.Steps[i]
		at := int64(i)
		t.steps.add(Step{gpu, at, s.Number, string(s.Stage), s.Tokens, s.Requests, s.Partial, r.Clock + s.Start, s.Wall,
			s.Busy})
		for _, o := range s.Operators {
			t.operators.add(Operator{gpu, at, o.Name, false, o.NS})
		}
		for _, c := range s.Idle {
			t.operators.add(Operator{gpu, at, c.Cause.String(), true, c.NS})
		}
		for k, c := range s.Call {
			call := r.Calls[c]
			group := ""
			if call.Group >= 0 {
				group = r.Groups[call.Group].Name
			}
			t.collectives.add(Collective{gpu, at, int64(k), call.Kind.String(), group, call.Kernel, call.Bytes,
				r.Clock + s.Start + s.At[k], s.Took[k]})
		}
	}
}
