package rocprof

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// NOTE: tables of a rocpd database end in an id of the recording, and views
// without it are before them. A database that was merged of several has
// several of each. Only tables are read, never views, which may be anything;
// columns that a version lacks read as NULL; rows of other tables are found by
// their id, the key of the table, so that reading stays linear.

// rocpd is an open database.
type rocpd struct {
	ctx  context.Context
	path string
	conn *sqlite.Conn
	size int64
	b    *trace.Builder
	l    *lanes
	// tables are the columns of each table, by its name.
	tables map[string][]string
}

func readDatabase(ctx context.Context, path, name string, o trace.Options) (*trace.Trace, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	f.Close()
	if err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	uri := url.URL{Scheme: "file", Opaque: (&url.URL{Path: filepath.ToSlash(abs)}).EscapedPath(),
		RawQuery: "mode=ro&immutable=1&cache=private"}
	conn, err := sqlite.OpenConn(uri.String(), sqlite.OpenReadOnly|sqlite.OpenURI)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", trace.ErrOtherFormat, err) // whoever is asked next says it better
	}
	defer conn.Close()
	conn.SetInterrupt(ctx.Done())
	r := &rocpd{ctx: ctx, path: path, conn: conn, size: info.Size(), b: newBuilder(name, "rocpd", o),
		tables: map[string][]string{}}
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
	err := r.each("SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'",
		func(s *sqlite.Stmt) error {
			name := s.ColumnText(0)
			r.tables[name] = nil
			if suffix, ok := strings.CutPrefix(name, agents); ok {
				suffixes = append(suffixes, suffix)
			}
			return nil
		})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", trace.ErrOtherFormat, err)
	}
	if _, rpd := r.tables["rocpd_api"]; rpd && len(suffixes) == 0 {
		return nil, fmt.Errorf("%w: a database of rpd (rocmProfileData), which is not read here: record with rocprofv3, or convert it to JSON with rpd2tracing.py", trace.ErrFormat)
	}
	if len(suffixes) == 0 {
		return nil, trace.ErrOtherFormat
	}
	for name := range r.tables {
		if !strings.HasPrefix(name, "rocpd_") {
			continue
		}
		if err := r.each("SELECT name FROM pragma_table_info("+literal(name)+")", func(s *sqlite.Stmt) error {
			r.tables[name] = append(r.tables[name], strings.ToLower(s.ColumnText(0)))
			return nil
		}); err != nil {
			return nil, r.damaged(err)
		}
	}
	slices.Sort(suffixes)
	for _, suffix := range suffixes {
		for _, read := range []func(string) error{r.readAgents, r.readKernels, r.readCopies, r.readRegions} {
			if err := read(suffix); err != nil {
				return nil, r.damaged(err)
			}
		}
		for _, base := range []string{"rocpd_pmc_event", "rocpd_memory_allocate", "rocpd_sample"} {
			if n := r.count(base + suffix); n > 0 {
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

func literal(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }
func quoted(s string) string  { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }

// each runs one query. A row takes some bytes of the file, so their number is bounded.
func (r *rocpd) each(query string, f func(*sqlite.Stmt) error) error {
	stmt, _, err := r.conn.PrepareTransient(query)
	if err != nil {
		return err
	}
	defer stmt.Finalize()
	const leastRow = 6 // bytes
	for n := int64(0); ; n++ {
		more, err := stmt.Step()
		switch {
		case err != nil:
			return err
		case !more:
			return nil
		case n > r.size/leastRow+1:
			return fmt.Errorf("more rows than fit into %d bytes", r.size)
		}
		if err := f(stmt); err != nil {
			return err
		}
	}
}

func (r *rocpd) count(table string) (n int64) {
	if _, ok := r.tables[table]; ok {
		// An error is no rows: it shows again where they are read.
		_ = r.each("SELECT count(*) FROM "+quoted(table),
			func(s *sqlite.Stmt) error { n = s.ColumnInt64(0); return nil })
	}
	return n
}

// join is a table that a row refers to, by its id.
type join struct{ as, table, by string }

// selects makes a query over a table t with columns such as "t.start", and those
// that it refers to; what is not there is NULL.
func (r *rocpd) selects(suffix, table string, joins []join, columns ...string) string {
	of := map[string]string{"t": table + suffix}
	from := " FROM " + quoted(table+suffix) + " t"
	for _, j := range joins {
		owner, column, _ := strings.Cut(j.by, ".")
		if r.hasColumn(of[owner], column) && r.hasColumn(j.table+suffix, "id") {
			of[j.as] = j.table + suffix
			from += " LEFT JOIN " + quoted(j.table+suffix) + " " + j.as + " ON " + j.as + ".id = " + owner + "." +
				quoted(column)
		}
	}
	var list []string
	for _, c := range columns {
		owner, column, _ := strings.Cut(c, ".")
		if of[owner] != "" && r.hasColumn(of[owner], column) {
			list = append(list, owner+"."+quoted(column))
		} else {
			list = append(list, "NULL")
		}
	}
	return "SELECT " + strings.Join(list, ", ") + from
}

func (r *rocpd) hasColumn(table, column string) bool {
	return slices.Contains(r.tables[table], strings.ToLower(column))
}

// rows runs such a query where the table is there.
func (r *rocpd) rows(suffix, table string, joins []join, f func(*sqlite.Stmt) error, columns ...string) error {
	if _, ok := r.tables[table+suffix]; !ok {
		return nil
	}
	n := 0
	return r.each(r.selects(suffix, table, joins, columns...), func(s *sqlite.Stmt) error {
		if n++; n%(1<<12) == 0 && r.ctx.Err() != nil {
			return r.ctx.Err()
		}
		return f(s)
	})
}

func (r *rocpd) readAgents(suffix string) error {
	return r.rows(suffix, agents, nil, func(s *sqlite.Stmt) error {
		if s.ColumnText(0) == "GPU" {
			name := s.ColumnText(3)
			if name == "" {
				name = s.ColumnText(2)
			}
			r.b.Meta.Devices = append(r.b.Meta.Devices, trace.GPU{ID: trace.DeviceID(s.ColumnInt64(1)), Name: name})
		}
		return nil
	}, "t.type", "t.type_index", "t.name", "t.product_name")
}

// device is the GPU's number; none where the agent is no GPU.
func device(s *sqlite.Stmt, kind, index int) trace.DeviceID {
	if s.ColumnText(kind) != "GPU" {
		return trace.None
	}
	return trace.DeviceID(s.ColumnInt64(index))
}

func (r *rocpd) readKernels(suffix string) error {
	joins := []join{{"k", "rocpd_info_kernel_symbol", "t.kernel_id"}, {"e", "rocpd_event", "t.event_id"},
		{"a", agents, "t.agent_id"},
		{"q", "rocpd_info_queue", "t.queue_id"}, {"p", "rocpd_info_process", "t.pid"}}
	return r.rows(suffix, "rocpd_kernel_dispatch", joins, func(s *sqlite.Stmt) error {
		name := s.ColumnText(2)
		if name == "" {
			name = strings.TrimSuffix(s.ColumnText(3), ".kd")
		}
		three := func(i int) [3]int64 { return [3]int64{s.ColumnInt64(i), s.ColumnInt64(i + 1), s.ColumnInt64(i + 2)} }
		r.l.add(activity{trace.EventData{Kind: event.Kernel, Name: name, Start: s.ColumnInt64(0),
			Duration: s.ColumnInt64(1) - s.ColumnInt64(0), Device: device(s, 5, 6),
			Correlation: uint64(s.ColumnInt64(4)), Scope: suffix + "/" + s.ColumnText(9),
			Shape: shape(three(10), three(13))}, s.ColumnInt64(7), s.ColumnInt64(8)})
		return nil
	}, "t.start", "t.end", "k.display_name", "k.kernel_name", "e.stack_id", "a.type", "a.type_index", "t.stream_id",
		"t.queue_id", "t.pid",
		"t.grid_size_x", "t.grid_size_y", "t.grid_size_z", "t.workgroup_size_x", "t.workgroup_size_y",
		"t.workgroup_size_z")
}

func (r *rocpd) readCopies(suffix string) error {
	joins := []join{{"n", "rocpd_string", "t.name_id"}, {"e", "rocpd_event", "t.event_id"},
		{"d", agents, "t.dst_agent_id"}, {"s", agents, "t.src_agent_id"}}
	return r.rows(suffix, "rocpd_memory_copy", joins, func(s *sqlite.Stmt) error {
		at := device(s, 4, 5)
		if at == trace.None {
			at = device(s, 6, 7)
		}
		r.l.add(activity{trace.EventData{Kind: event.Memcpy, Name: copyName(s.ColumnText(2)), Start: s.ColumnInt64(0),
			Duration: s.ColumnInt64(1) - s.ColumnInt64(0), Device: at,
			Correlation: uint64(s.ColumnInt64(3)), Scope: suffix + "/" + s.ColumnText(11), Bytes: s.ColumnInt64(8)},
			s.ColumnInt64(9), s.ColumnInt64(10)})
		return nil
	}, "t.start", "t.end", "n.string", "e.stack_id", "d.type", "d.type_index", "s.type", "s.type_index", "t.size",
		"t.stream_id", "t.queue_id", "t.pid")
}

func (r *rocpd) readRegions(suffix string) error {
	joins := []join{{"n", "rocpd_string", "t.name_id"}, {"e", "rocpd_event", "t.event_id"},
		{"c", "rocpd_string", "e.category_id"},
		{"h", "rocpd_info_thread", "t.tid"}, {"p", "rocpd_info_process", "t.pid"}}
	return r.rows(suffix, "rocpd_region", joins, func(s *sqlite.Stmt) error {
		k, ok := callKind(s.ColumnText(4))
		if !ok {
			k = event.Other
		}
		e := trace.EventData{Kind: k, Name: s.ColumnText(2), Start: s.ColumnInt64(0),
			Duration: s.ColumnInt64(1) - s.ColumnInt64(0), Device: trace.None, Stream: trace.None,
			Process: s.ColumnInt64(6), Thread: s.ColumnInt64(7), Correlation: uint64(s.ColumnInt64(3)),
			Scope: suffix + "/" + s.ColumnText(8)}
		if k == event.Annotation {
			e.Correlation = 0
			var data struct {
				Message string `json:"message"`
			}
			if json.Unmarshal([]byte(s.ColumnText(5)), &data) == nil && data.Message != "" {
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
