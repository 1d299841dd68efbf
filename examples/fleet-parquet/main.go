package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/parquet-go/parquet-go"

	"github.com/llmstrata/strata/internal/atomicfile"
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

// Rank is a row of ranks.parquet: one GPU of one recording.
type Rank struct {
	Run       string `parquet:"run,dict"`
	Rank      int64  `parquet:"rank"`
	Device    int64  `parquet:"device"`
	Part      string `parquet:"part,dict"`
	File      string `parquet:"file,dict"`
	Host      string `parquet:"host,dict"`
	GPU       string `parquet:"gpu,dict"`
	Model     string `parquet:"model,dict"`
	Framework string `parquet:"framework,dict"`
	Health    string `parquet:"health,dict"`
	Bad       string `parquet:"bad,dict"` // why it could not be read, "" where it could
	Steps     int64  `parquet:"steps"`
}

// Step is a row of steps.parquet. Times of all tables are nanoseconds; unknown counts are −1.
type Step struct {
	Run      string `parquet:"run,dict"`
	Rank     int64  `parquet:"rank"`
	Device   int64  `parquet:"device"`
	Part     string `parquet:"part,dict"`
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
	Run    string `parquet:"run,dict"`
	Rank   int64  `parquet:"rank"`
	Device int64  `parquet:"device"`
	Part   string `parquet:"part,dict"`
	Step   int64  `parquet:"step"`
	Name   string `parquet:"name,dict"`
	Idle   bool   `parquet:"idle"` // Name is a cause of idle time
	NS     int64  `parquet:"ns"`
}

// Collective is a row of collectives.parquet.
type Collective struct {
	Run     string `parquet:"run,dict"`
	Rank    int64  `parquet:"rank"`
	Device  int64  `parquet:"device"`
	Part    string `parquet:"part,dict"`
	Step    int64  `parquet:"step"`
	Place   int64  `parquet:"place"` // in the step, from 0
	Kind    string `parquet:"kind,dict"`
	Group   string `parquet:"group,dict"` // "" where the trace does not say
	Kernel  string `parquet:"kernel,dict"`
	Bytes   int64  `parquet:"bytes"` // 0 unknown
	StartNS int64  `parquet:"start_ns"`
	NS      int64  `parquet:"ns"`
}

func main() {
	output := flag.String("output", "", "`directory` for the tables")
	flag.Parse()
	if *output == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "fleet-parquet: want --output and files of digests")
		os.Exit(2)
	}
	if err := write(*output, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "fleet-parquet:", err)
		os.Exit(1)
	}
}

// table is one file of rows.
type table[T any] struct {
	f *atomicfile.File
	w *parquet.GenericWriter[T]
}

func create[T any](dir, name string) (*table[T], error) {
	f, err := atomicfile.Create(filepath.Join(dir, name+".parquet"), 0o666)
	if err != nil {
		return nil, err
	}
	return &table[T]{f, parquet.NewGenericWriter[T](f, parquet.Compression(&parquet.Zstd))}, nil
}

func (t *table[T]) add(rows ...T) error {
	_, err := t.w.Write(rows)
	return err
}

func (t *table[T]) close() error {
	return t.f.Finish(t.w.Close())
}

// tables are the five files.
type tables struct {
	runs        *table[Run]
	ranks       *table[Rank]
	steps       *table[Step]
	operators   *table[Operator]
	collectives *table[Collective]
}

func open(dir string) (t tables, err error) {
	if err = os.MkdirAll(dir, 0o777); err != nil {
		return t, err
	}
	if t.runs, err = create[Run](dir, "runs"); err != nil {
		return t, err
	}
	if t.ranks, err = create[Rank](dir, "ranks"); err != nil {
		return t, err
	}
	if t.steps, err = create[Step](dir, "steps"); err != nil {
		return t, err
	}
	if t.operators, err = create[Operator](dir, "operators"); err != nil {
		return t, err
	}
	t.collectives, err = create[Collective](dir, "collectives")
	return t, err
}

func (t *tables) close() error {
	for _, c := range []func() error{t.runs.close, t.ranks.close, t.steps.close, t.operators.close,
		t.collectives.close} {
		if err := c(); err != nil {
			return err
		}
	}
	return nil
}

// write makes the tables of files of digests.
func write(dir string, files []string) error {
	t, err := open(dir)
	if err != nil {
		return err
	}
	sets := map[string]*fleet.Set{}
	var names []string
	for _, path := range files {
		f, err := atomicfile.Open(path)
		if err != nil {
			return err
		}
		err = fleet.Read(f, func(r fleet.Rank) error {
			if sets[r.Run] == nil {
				sets[r.Run] = &fleet.Set{}
				names = append(names, r.Run)
			}
			sets[r.Run].Add(r)
			return nil
		})
		f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	for _, name := range names {
		ranks := sets[name].Ranks()
		for i := range ranks {
			if err := t.rank(&ranks[i]); err != nil {
				return err
			}
		}
		run := fleet.OfRun(ranks)
		late := ""
		for _, g := range run.Groups {
			if g.Late != nil && late == "" {
				late = g.Late.Rank
			}
		}
		if err := t.runs.add(Run{run.Run, run.Commit, run.Date, int64(run.Ranks), int64(run.World),
			int64(len(run.Missing)), run.Step.Median, run.Wait.Median, late, string(run.Health)}); err != nil {
			return err
		}
	}
	return t.close()
}

// rank writes the rows of one rank.
func (t *tables) rank(r *fleet.Rank) error {
	n, device := int64(r.Rank), int64(r.Device)
	if err := t.ranks.add(Rank{r.Run, n, device, r.Part, r.File, r.Host, r.GPU, r.Model, r.Framework, string(r.Health),
		r.Bad, int64(len(r.Steps))}); err != nil {
		return err
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		at := int64(i)
		if err := t.steps.add(Step{r.Run, n, device, r.Part, at, s.Number, string(s.Stage), s.Tokens, s.Requests,
			s.Partial, r.Clock + s.Start, s.Wall, s.Busy}); err != nil {
			return err
		}
		for _, o := range s.Operators {
			if err := t.operators.add(Operator{r.Run, n, device, r.Part, at, o.Name, false, o.NS}); err != nil {
				return err
			}
		}
		for _, c := range s.Idle {
			if err := t.operators.add(Operator{r.Run, n, device, r.Part, at, c.Cause.String(), true,
				c.NS}); err != nil {
				return err
			}
		}
		for k, c := range s.Call {
			call := r.Calls[c]
			group := ""
			if call.Group >= 0 {
				group = r.Groups[call.Group].Name
			}
			if err := t.collectives.add(Collective{r.Run, n, device, r.Part, at, int64(k), call.Kind.String(), group,
				call.Kernel, call.Bytes, r.Clock + s.Start + s.At[k], s.Took[k]}); err != nil {
				return err
			}
		}
	}
	return nil
}
