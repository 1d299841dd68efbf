package rocprof

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/internal/sqlite"
)

// NOTE: tables of a rocpd database end in an id of the recording, and views
// without it are before them. A database that was merged of several has
// several of each. Only tables are read, never views, which may be anything;
// columns that a version lacks read as NULL; rows of other tables are found by
// their id, the key of the table, so that reading stays linear.

// rocpd is an open database.
type rocpd struct {
	*sqlite.Database
	ctx context.Context
	b   *trace.Builder
	l   *lanes
}

func readDatabase(ctx context.Context, path, name string, o trace.Options) (*trace.Trace, error) {
	db, err := sqlite.Open(ctx, path)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", trace.ErrOtherFormat, err) // whoever is asked next says it better
	}
	defer db.Close()
	r := &rocpd{Database: db, ctx: ctx, b: newBuilder(name, "rocpd", o)}
	r.l = &lanes{b: r.b}
	t, err := r.read()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return t, err
}

// agents is the table by which a rocpd database is known.
const agents = "rocpd_info_agent"

// read reads every recording of the database.
func (r *rocpd) read() (*trace.Trace, error) {
	var suffixes []string
	for _, t := range r.Tables {
		if suffix, ok := strings.CutPrefix(t.Name, agents); ok {
			suffixes = append(suffixes, suffix)
		}
	}
	if r.Table("rocpd_api") != nil && len(suffixes) == 0 {
		return nil, fmt.Errorf("%w: a database of rpd (rocmProfileData), which is not read here: record with rocprofv3, "+
			"or convert it to JSON with rpd2tracing.py", trace.ErrFormat)
	}
	if len(suffixes) == 0 {
		return nil, trace.ErrOtherFormat
	}
	slices.Sort(suffixes)
	for _, suffix := range suffixes {
		for _, read := range []func(string) error{r.readAgents, r.readKernels, r.readCopies, r.readRegions} {
			if err := read(suffix); err != nil {
				return nil, r.damaged(err)
			}
		}
		for _, base := range []string{"rocpd_pmc_event", "rocpd_memory_allocate", "rocpd_sample"} {
			var n int64
			if err := r.scan(base+suffix, nil, func(*sqlite.Row) error { n++; return nil }); err != nil {
				return nil, r.damaged(err)
			}
			if n > 0 {
				r.b.LoseDetail(event.Dropped, n, "rows of "+base+" are not read yet")
			}
		}
	}
	r.l.flush(false)
	return r.b.Finish(r.ctx)
}

func (r *rocpd) damaged(err error) error {
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	return fmt.Errorf("rocpd: %w: %w", trace.ErrDamaged, err)
}

// scan reads the rows of a table where it is there.
func (r *rocpd) scan(name string, columns []string, f func(*sqlite.Row) error) error {
	t := r.Table(name)
	if t == nil {
		return nil
	}
	pages, err := r.Scan(r.ctx, t, columns, f)
	if pages > 0 {
		r.b.LoseDetail(event.BadEvent, pages, "damaged pages of "+t.Name+", whose rows are missing")
	}
	return err
}

// join is a table that a row refers to, by its id.
type join struct{ as, table, by string }

// joined is a row with those that it refers to.
type joined struct {
	rows []*sqlite.Row // of each table; nil where the row refers to none
	at   []place       // of each column
}

// place is where a column is: in which row, and which of its columns.
type place struct{ row, column int }

// text is column i as text, "" where nothing is there.
func (c *joined) text(i int) string {
	if r := c.rows[c.at[i].row]; r != nil {
		return r.Text(c.at[i].column)
	}
	return ""
}

// int is column i as a number, 0 where nothing is there.
func (c *joined) int(i int) int64 {
	if r := c.rows[c.at[i].row]; r != nil {
		return r.Int(c.at[i].column)
	}
	return 0
}

// reference finds the row of another table.
type reference struct {
	name   string          // of the table
	by     place           // the column that has its id
	ids    map[int64]int64 // the rowid of each id, nil where they are the same
	finder *sqlite.Finder
}

// rows calls f for each row of a table t, with columns such as "t.start", and those
// that it refers to; what is not there is null.
func (r *rocpd) rows(suffix, table string, joins []join, f func(*joined) error, columns ...string) error {
	names := []string{"t"}
	wanted := [][]string{nil}
	for _, j := range joins {
		names, wanted = append(names, j.as), append(wanted, nil)
	}
	locate := func(name string) place {
		owner, column, _ := strings.Cut(name, ".")
		row := slices.Index(names, owner)
		wanted[row] = append(wanted[row], column)
		return place{row, len(wanted[row]) - 1}
	}
	c := joined{rows: make([]*sqlite.Row, len(names))}
	for _, name := range columns {
		c.at = append(c.at, locate(name))
	}
	references := make([]reference, len(joins))
	for i, j := range joins {
		references[i].by = locate(j.by)
	}
	for i, j := range joins {
		t := r.Table(j.table + suffix)
		if t.Column("id") < 0 {
			continue
		}
		references[i].name, references[i].finder = t.Name, r.Finder(t, wanted[i+1])
		if !t.IsRowid("id") {
			ids := map[int64]int64{}
			references[i].ids = ids
			if err := r.scan(t.Name, []string{"id"}, func(row *sqlite.Row) error {
				ids[row.Int(0)] = row.Rowid
				return nil
			}); err != nil {
				return err
			}
		}
	}
	err := r.scan(table+suffix, wanted[0], func(row *sqlite.Row) error {
		clear(c.rows)
		c.rows[0] = row
		for i := range references {
			if err := references[i].find(&c, i+1); err != nil {
				return err
			}
		}
		return f(&c)
	})
	for _, ref := range references {
		if ref.finder != nil && ref.finder.Damaged() > 0 {
			r.b.LoseDetail(event.BadEvent, ref.finder.Damaged(),
				"rows of "+ref.name+" on damaged pages, which rows of "+table+" refer to")
		}
	}
	return err
}

// find puts the row that c refers to at its place.
func (f *reference) find(c *joined, at int) (err error) {
	owner := c.rows[f.by.row]
	if f.finder == nil || owner == nil || owner.Kind(f.by.column) == sqlite.Null {
		return nil
	}
	id := owner.Int(f.by.column)
	if f.ids != nil {
		rowid, ok := f.ids[id]
		if !ok {
			return nil
		}
		id = rowid
	}
	c.rows[at], err = f.finder.Find(id)
	return err
}

// agentGPU is the type of agents that are GPUs.
const agentGPU = "GPU"

func (r *rocpd) readAgents(suffix string) error {
	return r.rows(suffix, agents, nil, func(s *joined) error {
		if s.text(0) == agentGPU {
			r.b.Meta.Devices = append(r.b.Meta.Devices, trace.GPU{ID: trace.DeviceID(s.int(1)),
				Name: cmp.Or(s.text(3), s.text(2))})
		}
		return nil
	}, "t.type", "t.type_index", "t.name", "t.product_name")
}

// device is the GPU's number; none where the agent is no GPU.
func device(s *joined, kind, index int) trace.DeviceID {
	if s.text(kind) != agentGPU {
		return trace.None
	}
	return trace.DeviceID(s.int(index))
}

func (r *rocpd) readKernels(suffix string) error {
	joins := []join{{"k", "rocpd_info_kernel_symbol", "t.kernel_id"}, {"e", "rocpd_event", "t.event_id"},
		{"a", agents, "t.agent_id"}}
	return r.rows(suffix, "rocpd_kernel_dispatch", joins, func(s *joined) error {
		name := cmp.Or(s.text(2), strings.TrimSuffix(s.text(3), ".kd"))
		three := func(i int) [3]int64 { return [3]int64{s.int(i), s.int(i + 1), s.int(i + 2)} }
		r.l.add(activity{trace.EventData{Kind: event.Kernel, Name: name, Start: s.int(0),
			Duration: s.int(1) - s.int(0), Device: device(s, 5, 6),
			Correlation: uint64(s.int(4)), Scope: suffix + "/" + s.text(9),
			Shape: shape(three(10), three(13))}, s.int(7), s.int(8)})
		return nil
	}, "t.start", "t.end", "k.display_name", "k.kernel_name", "e.stack_id", "a.type", "a.type_index", "t.stream_id",
		"t.queue_id", "t.pid",
		"t.grid_size_x", "t.grid_size_y", "t.grid_size_z", "t.workgroup_size_x", "t.workgroup_size_y",
		"t.workgroup_size_z")
}

func (r *rocpd) readCopies(suffix string) error {
	joins := []join{{"n", "rocpd_string", "t.name_id"}, {"e", "rocpd_event", "t.event_id"},
		{"d", agents, "t.dst_agent_id"}, {"s", agents, "t.src_agent_id"}}
	return r.rows(suffix, "rocpd_memory_copy", joins, func(s *joined) error {
		at := device(s, 4, 5)
		if at == trace.None {
			at = device(s, 6, 7)
		}
		r.l.add(activity{trace.EventData{Kind: event.Memcpy, Name: copyName(s.text(2)), Start: s.int(0),
			Duration: s.int(1) - s.int(0), Device: at,
			Correlation: uint64(s.int(3)), Scope: suffix + "/" + s.text(11), Bytes: s.int(8)},
			s.int(9), s.int(10)})
		return nil
	}, "t.start", "t.end", "n.string", "e.stack_id", "d.type", "d.type_index", "s.type", "s.type_index", "t.size",
		"t.stream_id", "t.queue_id", "t.pid")
}

func (r *rocpd) readRegions(suffix string) error {
	joins := []join{{"n", "rocpd_string", "t.name_id"}, {"e", "rocpd_event", "t.event_id"},
		{"c", "rocpd_string", "e.category_id"},
		{"h", "rocpd_info_thread", "t.tid"}, {"p", "rocpd_info_process", "t.pid"}}
	return r.rows(suffix, "rocpd_region", joins, func(s *joined) error {
		k, ok := callKind(s.text(4))
		if !ok {
			k = event.Other
		}
		e := trace.EventData{Kind: k, Name: s.text(2), Start: s.int(0),
			Duration: s.int(1) - s.int(0), Device: trace.None, Stream: trace.None,
			Process: s.int(6), Thread: s.int(7), Correlation: uint64(s.int(3)),
			Scope: suffix + "/" + s.text(8)}
		if k == event.Annotation {
			e.Correlation = 0
			var data struct {
				Message string `json:"message"`
			}
			if json.Unmarshal([]byte(s.text(5)), &data) == nil && data.Message != "" {
				e.Name = data.Message
			}
			if e.Duration == 0 {
				e.Kind = event.Mark
			}
		}
		r.b.Add(e)
		return nil
	}, "t.start", "t.end", "n.string", "e.stack_id", "c.string", "e.extdata", "p.pid", "h.tid", "t.pid")
}
