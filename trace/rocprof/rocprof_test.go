package rocprof_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen/database"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/rocprof"
)

func open(t testing.TB, path string) *trace.Trace {
	t.Helper()
	tr, err := trace.Open(t.Context(), path, trace.Options{Formats: rocprof.Formats()})
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// sums are the figures that a raw file gives by adding up.
type sums struct {
	kernels, ns int64
	first, last int64
	byName      map[string]int64
	byStream    map[int64]int64
}

func sumsOf(tr *trace.Trace) sums {
	s := sums{byName: map[string]int64{}, byStream: map[int64]int64{}, first: 1 << 62}
	for e := range tr.Events(event.LaneGPU) {
		d := int64(e.Duration())
		s.kernels, s.ns = s.kernels+1, s.ns+d
		s.byName[e.Name()] += d
		s.byStream[int64(e.Stream())] += d
		s.first, s.last = min(s.first, tr.Raw(e.Start())), max(s.last, tr.Raw(e.End()))
	}
	return s
}

// TestDocumentEqualsItsRawSums: count, time, names, streams and the window of a real recording are those of its file.
func TestDocumentEqualsItsRawSums(t *testing.T) {
	path := testdata.Shared(t, "traces/other/rocprofv3-908_results.json.gz")
	var doc struct {
		Tool []struct {
			Symbols []struct {
				ID   int64  `json:"kernel_id"`
				Name string `json:"formatted_kernel_name"`
			} `json:"kernel_symbols"`
			Buffers struct {
				Kernels []struct {
					Start, End int64
					Start2     int64 `json:"start_timestamp"`
					End2       int64 `json:"end_timestamp"`
					Dispatch   struct {
						Kernel int64 `json:"kernel_id"`
					} `json:"dispatch_info"`
					Stream struct{ Handle int64 } `json:"stream_id"`
				} `json:"kernel_dispatch"`
			} `json:"buffer_records"`
		} `json:"rocprofiler-sdk-tool"`
	}
	if err := json.Unmarshal(testdata.ReadFile(t, path), &doc); err != nil {
		t.Fatal(err)
	}
	want := sums{byName: map[string]int64{}, byStream: map[int64]int64{}, first: 1 << 62}
	for _, p := range doc.Tool {
		names := map[int64]string{}
		for _, s := range p.Symbols {
			names[s.ID] = s.Name
		}
		for _, k := range p.Buffers.Kernels {
			d := k.End2 - k.Start2
			want.kernels, want.ns = want.kernels+1, want.ns+d
			want.byName[names[k.Dispatch.Kernel]] += d
			want.byStream[k.Stream.Handle] += d
			want.first, want.last = min(want.first, k.Start2), max(want.last, k.End2)
		}
	}
	got := sumsOf(open(t, path))
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%d kernels, %d ns, %d names, %d streams, %d to %d; want %d, %d, %d, %d, %d to %d", got.kernels,
			got.ns, len(got.byName), len(got.byStream), got.first, got.last,
			want.kernels, want.ns, len(want.byName), len(want.byStream), want.first, want.last)
	}
	if want.kernels != 43915 || want.ns != 4441741378 {
		t.Errorf("the file has %d kernels and %d ns", want.kernels, want.ns)
	}
}

const document = `{"rocprofiler-sdk-tool":[{"metadata":{"pid":7,"node":{"hostname":"h"}},
"agents":[{"id":{"handle":1},"type":1},{"id":{"handle":9},"type":2,"name":"gfx942","product_name":"MI300X","logical_node_type_id":0,"gpu_index":3,"cu_count":304}],
"counters":[{"summary":[1,[2]]}],
"strings":{"buffer_records":[{"kind":"NONE","operations":[]},{"kind":"KERNEL_DISPATCH","operations":["","KERNEL_DISPATCH_COMPLETE"]},{"kind":"HIP_RUNTIME_API","operations":["hipLaunchKernel"]},
{"kind":"MEMORY_COPY","operations":["MEMORY_COPY_HOST_TO_DEVICE"]},{"kind":"MARKER_CORE_API","operations":["roctxRangePushA"]}],"marker_api":[{"key":12,"value":"step"}]},
"kernel_symbols":[{"kernel_id":5,"kernel_name":"_Z1kv.kd","formatted_kernel_name":"k()"}],"callback_records":{"counter_collection":[]},
"buffer_records":{"kernel_dispatch":[
{"kind":1,"operation":1,"thread_id":8,"correlation_id":{"internal":11,"external":0},"start_timestamp":3000,"end_timestamp":4500,"stream_id":{"handle":0},"dispatch_info":{"agent_id":{"handle":9},"queue_id":{"handle":2},"kernel_id":5,"workgroup_size":{"x":64,"y":1,"z":1},"grid_size":{"x":640,"y":1,"z":1}}},
{"kind":1,"operation":1,"thread_id":8,"correlation_id":{"internal":99,"external":0},"start_timestamp":5000,"end_timestamp":5010,"stream_id":{"handle":0},"dispatch_info":{"agent_id":{"handle":9},"queue_id":{"handle":4},"kernel_id":6,"workgroup_size":{"x":64,"y":1,"z":1},"grid_size":{"x":64,"y":1,"z":1}}}],
"memory_copy":[{"kind":3,"operation":0,"thread_id":8,"correlation_id":{"internal":13},"start_timestamp":5100,"end_timestamp":5200,"dst_agent_id":{"handle":9},"src_agent_id":{"handle":1},"bytes":4096,"stream_id":{"handle":0}}],
"hip_api":[{"kind":2,"operation":0,"thread_id":8,"correlation_id":{"internal":11},"start_timestamp":1000,"end_timestamp":2000,"args":[{"x":1}]}],
"marker_api":[{"kind":4,"operation":0,"thread_id":8,"correlation_id":{"internal":12},"start_timestamp":900,"end_timestamp":6000}],
"scratch_memory":[{"kind":0,"operation":0,"start_timestamp":1,"end_timestamp":2}]}}]}`

// TestDocument: links, devices, queues, copies, marks, and what is not there.
func TestDocument(t *testing.T) {
	tr, err := trace.Read(t.Context(), strings.NewReader(document), trace.Options{Formats: rocprof.Formats()})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for e := range tr.Events(event.LaneGPU) {
		got = append(got, fmt.Sprint(e.Kind(), " ", e.Name(), " ", tr.Raw(e.Start()), "+", int64(e.Duration()), " gpu ",
			e.Device(), " stream ", e.Stream(), " ", e.Shape(), " launch ", e.Launch().Valid(), " ", e.Data().Bytes))
	}
	want := []string{"kernel k() 3000+1500 gpu 3 stream 2 10,1,1|64,1,1 launch true 0",
		"kernel kernel 6 5000+10 gpu 3 stream 4 1,1,1|64,1,1 launch false 0",
		"memcpy Memcpy HtoD (Host -> Device) 5100+100 gpu 3 stream 0  launch false 4096"}
	if !slices.Equal(got, want) {
		t.Errorf("activities\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for e := range tr.Events(event.LaneAnnotation) {
		if e.Name() != "step" || e.Duration() != 5100 {
			t.Errorf("annotation %s of %v", e.Name(), e.Duration())
		}
	}
	m := tr.Meta()
	if m.Source != trace.SourceRocprof || len(m.Devices) != 1 || m.Devices[0].Name != "MI300X" || m.Devices[0].ID != 3 ||
		m.BaseTime != 0 {
		t.Errorf("meta %+v", m)
	}
	text := fmt.Sprint(tr.Health())
	for _, said := range []string{"scratch_memory", "symbol is not in the document"} {
		if !strings.Contains(text, said) {
			t.Errorf("health does not say %q: %s", said, text)
		}
	}
}

// TestCutDocument: wherever it ends, what was read is kept and the cut is said, or it is refused.
func TestCutDocument(t *testing.T) {
	for n := len(document) - 1; n > 30; n -= 7 {
		tr, err := trace.Read(t.Context(), strings.NewReader(document[:n]), trace.Options{Formats: rocprof.Formats()})
		switch {
		case err != nil && !errors.Is(err, trace.ErrDamaged):
			t.Fatalf("cut at %d: %v", n, err)
		case err == nil && tr.Health().Status == trace.HealthOK:
			t.Fatalf("cut at %d: health is ok", n)
		}
	}
}

// TestDeepDocument: arrays a million deep are read over.
func TestDeepDocument(t *testing.T) {
	deep := strings.Replace(document, `"counters":[`,
		`"counters":[`+strings.Repeat("[", 1_000_000)+strings.Repeat("]", 1_000_000)+",", 1)
	if _, err := trace.Read(t.Context(), strings.NewReader(deep),
		trace.Options{Formats: rocprof.Formats()}); err != nil {
		t.Error(err)
	}
}

// recorded makes a rocpd database of the documented layout with so many recordings, and the sum of its kernels.
func recorded(t testing.TB, recordings int) (db *database.Database, ns int64) {
	t.Helper()
	db = &database.Database{}
	run := func(format string, args ...any) {
		t.Helper()
		if err := db.Exec(fmt.Sprintf(format, args...)); err != nil {
			t.Fatal(err)
		}
	}
	layout := map[string]string{
		"string": "string", "info_node": "hostname", "info_process": "nid, pid, environment",
		"info_thread": "nid, pid, tid, name", "info_agent": "type, absolute_index, logical_index, type_index, name, product_name",
		"info_queue": "name", "info_stream": "name", "info_kernel_symbol": "kernel_name, display_name",
		"event":           "category_id, stack_id, parent_stack_id, correlation_id, extdata",
		"region":          `nid, pid, tid, start, "end", name_id, event_id`,
		"kernel_dispatch": `nid, pid, tid, agent_id, kernel_id, dispatch_id, queue_id, stream_id, start, "end", workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, region_name_id, event_id`,
		"memory_copy":     `nid, pid, tid, start, "end", name_id, dst_agent_id, src_agent_id, size, queue_id, stream_id, event_id`, "pmc_event": "event_id, pmc_id, value",
	}
	for k := range recordings {
		u := fmt.Sprintf("_0199%04d_aaaa", k)
		for name, columns := range layout {
			run(`CREATE TABLE "rocpd_%s%s"("id" INTEGER PRIMARY KEY, "guid" TEXT DEFAULT 'g', %s);`, name, u, columns)
		}
		run(`INSERT INTO rocpd_string%[1]s(id, string) VALUES (1, ''), (2, 'HIP_RUNTIME_API_EXT'), (3, 'hipLaunchKernel'), (4, 'MARKER_CORE_RANGE_API'), (5, 'roctxRangePushA'), (6, 'MEMORY_COPY_DEVICE_TO_HOST');
INSERT INTO rocpd_info_process%[1]s(id, pid, environment) VALUES (100, %[2]d, 'HF_TOKEN=secret');
INSERT INTO rocpd_info_thread%[1]s(id, tid) VALUES (101, 4711);
INSERT INTO rocpd_info_agent%[1]s(id, type, type_index, name) VALUES (0, 'CPU', 0, 'EPYC'), (2, 'GPU', %[2]d, 'gfx942');
INSERT INTO rocpd_info_kernel_symbol%[1]s(id, kernel_name, display_name) VALUES (8, '_Z1kv.kd', 'k()'), (9, '_Z1lv.kd', '');`, u, k)
		for i := range 20 {
			start := 1000*i + 17*k
			dur := 100 + i
			ns += int64(dur)
			run(`INSERT INTO rocpd_event%[1]s(id, category_id, stack_id) VALUES (%[2]d, 2, %[3]d), (%[4]d, NULL, %[3]d);
INSERT INTO rocpd_region%[1]s(id, pid, tid, start, "end", name_id, event_id) VALUES (%[2]d, 100, 101, %[5]d, %[6]d, 3, %[2]d);
INSERT INTO rocpd_kernel_dispatch%[1]s(pid, tid, agent_id, kernel_id, queue_id, stream_id, start, "end", workgroup_size_x, workgroup_size_y, workgroup_size_z, grid_size_x, grid_size_y, grid_size_z, event_id)
VALUES (100, 101, 2, %[7]d, 1, %[8]d, %[9]d, %[10]d, 64, 2, 1, 130, 4, 1, %[4]d);`, u, 2*i+1, 500+i, 2*i+2, start-500, start-400, 8+i%2, i%3, start, start+dur)
		}
		run(`INSERT INTO rocpd_event%[1]s(id, category_id, stack_id, extdata) VALUES (900, 4, 0, '{"message":"step 1"}');
INSERT INTO rocpd_region%[1]s(id, pid, tid, start, "end", name_id, event_id) VALUES (900, 100, 101, 0, 30000, 5, 900);
INSERT INTO rocpd_memory_copy%[1]s(pid, tid, start, "end", name_id, dst_agent_id, src_agent_id, size, stream_id) VALUES (100, 101, 25000, 25010, 6, 0, 2, 512, 1);
INSERT INTO rocpd_pmc_event%[1]s(event_id, pmc_id, value) VALUES (1, 1, 2);`, u)
		ns += 10
	}
	run(`CREATE VIEW rocpd_kernel_dispatch AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT i FROM n;`)
	return db, ns
}

// TestDatabase: of one recording, and of a merged one.
func TestDatabase(t *testing.T) {
	for _, recordings := range []int{1, 3} {
		path := filepath.Join(t.TempDir(), "x_results.db")
		db, want := recorded(t, recordings)
		if err := db.WriteFile(path); err != nil {
			t.Fatal(err)
		}
		tr := open(t, path)
		got := sumsOf(tr)
		if got.ns != want || got.kernels != int64(21*recordings) ||
			got.byName["k()"]+got.byName["_Z1lv"]+int64(10*recordings) != want {
			t.Errorf("%d recordings: %d activities, %d ns, %v; want %d, %d", recordings, got.kernels, got.ns,
				got.byName, 21*recordings, want)
		}
		if len(got.byStream) != 3 || len(tr.Devices()) != recordings {
			t.Errorf("%d recordings: streams %v, devices %v", recordings, got.byStream, tr.Devices())
		}
		for e := range tr.Events(event.LaneGPU) {
			if e.Kind() == event.Kernel && (!e.Launch().Valid() || e.Launch().Name() != "hipLaunchKernel" ||
				tr.Raw(e.Start())-tr.Raw(e.Launch().Start()) != 500 || e.Shape() != "3,2,1|64,2,1") {
				t.Errorf("%s at %d: launch %v, shape %q", e.Name(), tr.Raw(e.Start()), e.Launch().Valid(), e.Shape())
			}
		}
		for th := range tr.Events(event.LaneAnnotation) {
			if th.Name() != "step 1" || th.Thread() == trace.None {
				t.Errorf("annotation %q", th.Name())
			}
		}
		if text := fmt.Sprint(tr.Health(), tr.Meta()); strings.Contains(text, "secret") ||
			!strings.Contains(text, "rocpd_pmc_event") {
			t.Errorf("health and meta: %s", text)
		}
	}
}

// TestSampleDatabase: one that the profiler's own statements made.
func TestSampleDatabase(t *testing.T) {
	tr := open(t, testdata.Shared(t, "traces/other/rocpd-3.0.0-sample.db"))
	if s := sumsOf(tr); s.kernels != 2 || s.ns != 1600 || s.byName["k()"] != 1500 {
		t.Errorf("%+v", s)
	}
}

// TestOtherDatabasesAreLeftToOthers: one that is none of these is a matter for the next format; rpd is refused by name.
func TestOtherDatabasesAreLeftToOthers(t *testing.T) {
	dir := t.TempDir()
	for table, want := range map[string]error{"CUPTI_ACTIVITY_KIND_KERNEL": trace.ErrFormat,
		"rocpd_api": trace.ErrFormat} {
		path := filepath.Join(dir, table+".db")
		db := database.Database{Tables: []*database.Table{database.NewTable(table, "id")}}
		if err := db.WriteFile(path); err != nil {
			t.Fatal(err)
		}
		_, err := trace.Open(t.Context(), path, trace.Options{Formats: rocprof.Formats()})
		if !errors.Is(err, want) || strings.Contains(err.Error(), "rpd") != (table == "rocpd_api") {
			t.Errorf("%s: %v", table, err)
		}
	}
}

func FuzzDocument(f *testing.F) {
	f.Add([]byte(document))
	f.Add([]byte(`{"rocprofiler-sdk-tool":[{"buffer_records":{"kernel_dispatch":[{"start_timestamp":-9223372036854775808,"end_timestamp":9223372036854775807}]}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		tr, err := trace.Read(t.Context(), bytes.NewReader(text), trace.Options{Formats: rocprof.Formats()})
		if err == nil && tr.Health().Status == "" {
			t.Error("no health")
		}
	})
}

// FuzzDatabase changes bytes of a small database and cuts it: it is read or refused, and what is read can be walked.
func FuzzDatabase(f *testing.F) {
	db, _ := recorded(f, 1)
	seed := db.Bytes()
	for _, at := range []uint32{18, 100, 4096, 4103, uint32(len(seed) / 2), uint32(len(seed) - 40)} {
		f.Add(at, []byte{5, 0, 255}, uint32(0))
	}
	f.Add(uint32(0), []byte{}, uint32(len(seed)/2))
	for _, name := range []string{"k()", "HIP_RUNTIME_API_EXT", "MARKER_CORE_RANGE_API", `{"message"`, "GPU"} {
		f.Add(uint32(bytes.Index(seed, []byte(name))), []byte{0, 255, '"'}, uint32(0))
	}
	f.Fuzz(func(t *testing.T, at uint32, patch []byte, size uint32) {
		data := bytes.Clone(seed)
		if size > 0 {
			data = data[:min(int(size), len(data))]
		}
		copy(data[min(int(at), len(data)):], patch)
		path := filepath.Join(t.TempDir(), "x.db")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		tr, err := trace.Open(t.Context(), path, trace.Options{Formats: rocprof.Formats()})
		if err != nil {
			return
		}
		if tr.Health().Status == "" {
			t.Error("no health")
		}
		for lane := event.LaneGPU; lane <= event.LaneOther; lane++ {
			for e := range tr.Events(lane) {
				if e.Duration() < 0 {
					t.Fatalf("event %d lasts %v", e.ID(), e.Duration())
				}
				e.Launch()
				e.Parent()
			}
		}
	})
}

// TestDamagedReferences: kernels whose names or GPUs are on a damaged page are kept, and that is counted.
func TestDamagedReferences(t *testing.T) {
	db, _ := recorded(t, 1)
	text := db.Bytes()
	symbols := slices.IndexFunc(db.Tables, func(t *database.Table) bool {
		return strings.HasPrefix(t.Name, "rocpd_info_kernel_symbol")
	})
	text[(db.Tables[symbols].Root-1)*4096] = 0
	tr, err := trace.Read(t.Context(), bytes.NewReader(text), trace.Options{Formats: rocprof.Formats()})
	if err != nil {
		t.Fatal(err)
	}
	counted := int64(0)
	for _, l := range tr.Health().Losses {
		if l.Reason == event.BadEvent && strings.Contains(l.Detail, "rocpd_info_kernel_symbol") {
			counted += l.Count
		}
	}
	if n := tr.Len(event.LaneGPU); n != 21 || counted != 20 || tr.Health().Status == trace.HealthOK {
		t.Errorf("%d activities, %d references counted, health %v; want 21, 20 and a remark", n, counted, tr.Health().Status)
	}
}

// TestDamagedDatabases: a byte anywhere that is another one, and a file that ends anywhere, are read or refused.
func TestDamagedDatabases(t *testing.T) {
	db, _ := recorded(t, 1)
	seed := db.Bytes()
	const tries = 60
	for i := range tries {
		text := slices.Clone(seed)
		at := i * len(seed) / tries
		text[at] ^= byte(1 + i*37)
		for _, b := range [][]byte{text, seed[:at]} {
			tr, err := trace.Read(t.Context(), bytes.NewReader(b), trace.Options{Formats: rocprof.Formats()})
			if err == nil && tr.Health().Status == "" {
				t.Errorf("damaged at %d: no health", at)
			}
		}
	}
}
