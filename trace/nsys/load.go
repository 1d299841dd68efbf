package nsys

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// The tables that are read.
const (
	tableStrings  = "StringIds"
	tableKernel   = "CUPTI_ACTIVITY_KIND_KERNEL"
	tableMemcpy   = "CUPTI_ACTIVITY_KIND_MEMCPY"
	tableMemset   = "CUPTI_ACTIVITY_KIND_MEMSET"
	tableGraph    = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
	tableRuntime  = "CUPTI_ACTIVITY_KIND_RUNTIME"
	tableSync     = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
	tableOverhead = "CUPTI_ACTIVITY_KIND_OVERHEAD"
	tableProfiler = "PROFILER_OVERHEAD"
	tableNVTX     = "NVTX_EVENTS"
)

// maxTime bounds timestamps, so that no difference of two of them overflows.
// 2^61 ns are 73 years; real values are ns since boot or since the session.
const maxTime = 1 << 61

// loader fills a Builder from one export: first the small tables, whose facts
// all rows need, then the large ones side by side.
type loader struct {
	noTime int64 // GPU activities at 0 whose clock was not read
	facts
	db *database
	b  *trace.Builder

	longText int64
	suffixed map[string][]string // stripped API name → names as stored
}

func newLoader(db *database, name string, cfg *trace.Options) *loader {
	l := &loader{
		facts: facts{cfg: cfg, devices: map[cudaDevice]int64{}, domains: map[domainKey]string{}},
		db:    db, suffixed: map[string][]string{},
		// The lanes get the room that the tables say, not one by the input's size.
		b: trace.NewBuilder(trace.Options{Lanes: cfg.Lanes, Kinds: cfg.Kinds, RepairOrder: cfg.RepairOrder}),
	}
	l.b.Meta = trace.Meta{Path: name, Source: trace.SourceNsys, Rank: -1}
	return l
}

// load reads every table once.
func (l *loader) load(ctx context.Context) (*trace.Trace, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	// Without a process on either side the correlation alone has to do.
	l.scoped = l.db.hasColumn(tableKernel, "globalPid") && l.db.hasColumn(tableRuntime, "globalTid")
	if err := l.findProcessBits(); err != nil {
		return nil, err
	}
	for _, step := range []func() error{l.readStrings, l.readMeta, l.readDevices, l.readNames, l.readDomains} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	scanners, err := l.scanAll(ctx)
	if err != nil {
		return nil, err
	}
	l.report(scanners)
	return l.b.Finish(ctx)
}

// check refuses a database that holds nothing of a profile.
func (l *loader) check() error {
	for _, t := range []string{tableStrings, tableKernel, tableRuntime, tableNVTX, tableGraph, "META_DATA_EXPORT",
		"TARGET_INFO_SESSION_START_TIME"} {
		if l.db.Has(t) {
			return nil
		}
	}
	names := slices.Sorted(maps.Keys(l.db.Tables))
	if i := slices.IndexFunc(names, func(s string) bool { return strings.HasPrefix(s, "rocpd_") }); i >= 0 {
		return &readError{Path: l.db.path, Err: fmt.Errorf("%w: a database of rocprofv3 (rocpd), which is not read; "+
			"record with torch.profiler", errNotExport)}
	}
	if kind := cmp.Or(l.db.unread(tableKernel), l.db.unread(tableRuntime)); kind != "" {
		return &readError{Path: l.db.path, Err: fmt.Errorf("%w: its tables of a profile are of the kind %q, which is not "+
			"read; make tables of them: CREATE TABLE copy AS SELECT * FROM %s", errNotExport, kind, tableKernel)}
	}
	what := "without tables"
	if len(names) > 0 {
		what += " of a profile, its first one is " + names[0]
	}
	return &readError{Path: l.db.path, Err: fmt.Errorf("%w: an SQLite database %s", errNotExport, what)}
}

// report puts what the export lacks into the health.
func (l *loader) report(scanners []*scanner) {
	noTime := l.noTime
	var noText, farTime int64
	l.reportDamage(l.db)
	rows := map[string]int64{}
	l.b.Meta.Counts = map[string]map[string]int64{"row": rows}
	for _, s := range scanners {
		l.reportDamage(s.db)
		for _, c := range s.counts {
			rows[c.table] += c.rows
		}
		noText, noTime, farTime = noText+s.noText, noTime+s.noTime, farTime+s.farTime
		maps.Copy(l.suffixed, s.suffixed)
		l.reportHost(s)
	}
	l.reportMissing()
	l.reportUnread()
	if noText > 0 {
		l.b.LoseDetail(event.BadEvent, noText, "NVTX ranges whose text and textId are both null")
	}
	if noTime > 0 {
		l.b.LoseDetail(event.BadTime, noTime, "rows without a start or end, or with a start of 0 far before all others")
	}
	if farTime > 0 {
		l.b.LoseDetail(event.BadTime, farTime, "timestamps decades away")
	}
	if l.longText > 0 {
		l.b.LoseDetail(event.Limit, l.longText, "strings cut")
	}
	if l.db.wal {
		l.b.LoseDetail(event.Truncated, 1, "a write-ahead log lies beside the export and is not read; open the export "+
			"once with sqlite3 to merge it")
	}
	l.describe()
}

// unread are tables that are not read yet, and the reason to want them.
var unread = []struct{ table, adds string }{
	{"CUDA_GPU_MEMORY_USAGE_EVENTS", "allocations and frees, and what they hold up"},
	{"CUDA_CALLCHAINS", "the code that makes calls that wait or allocate"},
	{"NVTX_PAYLOAD_SCHEMAS", "NCCL message sizes; needs nsys export --include-blobs=true"},
	{"CUPTI_ACTIVITY_KIND_CUDA_EVENT", "which stream's event released a wait"},
	{"CUDA_GRAPH_NODE_EVENTS", "where kernels of graphs were captured"},
	{"GPU_METRICS", "how busy multiprocessors, tensor cores and memory were"},
	{"GPU_CONTEXT_SWITCH_EVENTS", "when another process held the GPU"},
	{"CUDA_UM_CPU_PAGE_FAULT_EVENTS", "page faults of managed memory, on the host"},
	{"CUDA_UM_GPU_PAGE_FAULT_EVENTS", "page faults of managed memory, on the GPU"},
	{"CUDA_HOST_CALLBACK", "host functions in streams"},
}

// errEnough ends a scan that has found what it was for.
var errEnough = errors.New("enough")

// reportUnread names the tables that hold rows and are not read.
func (l *loader) reportUnread() {
	for _, u := range unread {
		if err := l.db.scan(u.table, []string{"start"}, func(row) error { return errEnough }); errors.Is(err,
			errEnough) {
			l.b.LoseDetail(event.Unread, 1, u.table+" ("+u.adds+")")
		}
	}
}

// reportMissing counts the tables and columns that the export lacks, with what is
// unknown for it.
func (l *loader) reportMissing() {
	for _, m := range []struct {
		table, costs string
	}{
		{tableKernel, "no GPU kernels"},
		{tableRuntime, "no launch calls: launch overhead and attribution unknown"},
		{tableNVTX, "no NVTX ranges: steps and host operations unknown"},
	} {
		switch {
		case l.db.unread(m.table) != "":
			l.b.LoseDetail(event.MissingTable, 1, m.table+" is a "+l.db.unread(m.table)+
				", which is not read: "+m.costs)
		case !l.db.Has(m.table):
			l.b.LoseDetail(event.MissingTable, 1, m.table+": "+m.costs)
		}
	}
	for _, m := range []struct {
		table, column, costs string
	}{
		{tableKernel, "globalPid", "launches joined on correlation alone"},
		{tableRuntime, "globalTid", "launches joined on correlation alone, threads unknown"},
		{tableKernel, "correlationId", "kernels cannot be attributed"},
		{tableRuntime, "correlationId", "kernels cannot be attributed"},
		{tableKernel, "deviceId", "GPUs cannot be distinguished"},
		{tableKernel, "streamId", "streams cannot be distinguished"},
		{tableNVTX, "globalTid", "ranges have no thread"},
		{tableRuntime, "nameId", "API calls have no name"},
	} {
		if l.db.Has(m.table) && !l.db.hasColumn(m.table, m.column) {
			l.b.LoseDetail(event.MissingTable, 1, m.table+"."+m.column+": "+m.costs)
		}
	}
}
