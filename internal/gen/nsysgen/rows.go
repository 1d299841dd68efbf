package nsysgen

// RowKind is the table that a row goes to.
type RowKind int

// The kinds of rows.
const (
	RowKernel   RowKind = iota // a kernel; of a graph replay where Node is not 0
	RowCopy                    // a copy
	RowCall                    // an API call
	RowRange                   // an NVTX range
	RowOS                      // a call of the C library (OSRT_API)
	RowOff                     // a time off the CPU (two rows of SCHED_EVENTS)
	RowSample                  // a sample (COMPOSITE_EVENTS), with its function
	RowOverhead                // overhead of the profiler; Name is ignored
	RowMessage                 // what the recorder reported; Node is its severity
	RowGPU                     // the GPU in place of an H200: Start is its memory in bytes, Node its multiprocessors
)

// Row is one event of a made-up process with one GPU.
type Row struct {
	Kind        RowKind
	Name        string
	Start, End  int64 // ns
	Thread      int64 // of the process
	Correlation int64
	Stream      int64
	Node        int64
	Grid        int64 // blocks of a kernel; 0: one
}

const schemaRows = schemaNVTX + `
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_OVERHEAD (start INTEGER NOT NULL, end INTEGER NOT NULL, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, overheadType INTEGER);
CREATE TABLE OSRT_API (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER, nestingLevel INTEGER, callchainId INTEGER);
CREATE TABLE SCHED_EVENTS (start INTEGER NOT NULL, cpu INTEGER NOT NULL, isSchedIn INTEGER NOT NULL, globalTid INTEGER);
CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER NOT NULL, cpu INTEGER, threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER NOT NULL);
CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER NOT NULL, symbol INTEGER NOT NULL, module INTEGER NOT NULL, stackDepth INTEGER NOT NULL);
CREATE TABLE DIAGNOSTIC_EVENT (timestamp INTEGER NOT NULL, timestampType INTEGER NOT NULL, source INTEGER NOT NULL, severity INTEGER NOT NULL, text TEXT NOT NULL, globalPid INTEGER);
`

// flushOverhead is CUPTI's number for the flush of a buffer.
const flushOverhead = 3

// WriteRows creates an export with exactly these events.
func WriteRows(path string, rows []Row) error {
	w := &writer{strings: map[string]int64{}}
	w.exec(schema + schemaRows)
	w.exec("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.25.0'), ('EXPORT_PRODUCT_VERSION', '2026.1.0')")
	w.exec("INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200', 150754820096, 132, 32, 9, 0)")
	w.exec("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (0, 0, ?)", pid(0))
	for i := range rows {
		w.row(int64(i), &rows[i])
	}
	if w.err != nil {
		return w.err
	}
	return w.db.WriteFile(path)
}

// row writes one event.
func (w *writer) row(id int64, r *Row) {
	process := pid(0) << 24
	thread := process | r.Thread
	name := w.id(r.Name)
	switch r.Kind {
	case RowKernel:
		node := any(nil)
		if r.Node != 0 {
			node = r.Node
		}
		w.exec("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, 1, NULL, ?, ?, ?, ?, ?, NULL, ?, 1, 1, 128, 1, 1, ?, NULL)",
			r.Start, r.End, r.Stream, r.Correlation, process, name, name, max(1, r.Grid), node)
	case RowCopy:
		w.exec("INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (?, ?, 0, 1, ?, ?, ?, 4096, 1, 0, 0)", r.Start, r.End,
			r.Stream, r.Correlation, process)
	case RowCall:
		w.exec("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 0, ?, ?, ?, 0, NULL)", r.Start, r.End, thread,
			r.Correlation, name)
	case RowRange:
		w.exec("INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, NULL, ?, ?, 0)", r.Start, r.End, thread, name)
	case RowOS:
		w.exec("INSERT INTO OSRT_API VALUES (?, ?, 0, ?, 0, ?, 0, 0, NULL)", r.Start, r.End, thread, name)
	case RowOff:
		w.exec("INSERT INTO SCHED_EVENTS VALUES (?, 3, 0, ?), (?, 3, 1, ?)", r.Start, thread, r.End, thread)
	case RowSample:
		w.exec("INSERT INTO COMPOSITE_EVENTS VALUES (?, ?, 3, 1, ?, 1000)", id, r.Start, thread)
		w.exec("INSERT INTO SAMPLING_CALLCHAINS VALUES (?, ?, ?, 0)", id, name, name)
	case RowOverhead:
		w.exec("INSERT INTO CUPTI_ACTIVITY_KIND_OVERHEAD VALUES (?, ?, ?, 0, NULL, ?)", r.Start, r.End, thread,
			flushOverhead)
	case RowGPU:
		gpu := w.db.Table("TARGET_INFO_GPU")
		gpu.Replace(gpu.Columns, [][]any{{0, r.Name, r.Start, r.Node, 32, 9, 0}})
	case RowMessage:
		w.exec("INSERT INTO DIAGNOSTIC_EVENT VALUES (?, 1, 1, ?, ?, ?)", r.Start, r.Node, r.Name, process)
	}
}
