package nsysgen

import (
	"fmt"
	"math/rand/v2"
	"os"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// schema holds the tables and the columns that nsys 2024 to 2026 write, as far
// as anybody reads them.
const schema = `
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);
CREATE TABLE TARGET_INFO_GPU (id INTEGER, name TEXT, totalMemory INTEGER, smCount INTEGER, threadsPerWarp INTEGER, computeMajor INTEGER, computeMinor INTEGER);
CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId INTEGER, pid INTEGER);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, utcTime TEXT, localTime TEXT);
CREATE TABLE PROCESSES (globalPid INTEGER, pid INTEGER, name TEXT);
CREATE TABLE ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL, callchainId INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, greenContextId INTEGER, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL, mangledName INTEGER, gridX INTEGER NOT NULL, gridY INTEGER NOT NULL, gridZ INTEGER NOT NULL, blockX INTEGER NOT NULL, blockY INTEGER NOT NULL, blockZ INTEGER NOT NULL, graphNodeId INTEGER, graphId INTEGER);
`

const (
	schemaNVTX  = `CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER);`
	schemaGraph = `CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, graphId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, graphExecId INTEGER);`
	schemaSync  = `CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER);`
)

// Stats counts the rows written.
type Stats struct {
	Kernels int // rows of the kernel table
	Calls   int // rows of the runtime table
	Ranges  int // rows of the NVTX table
}

// Write creates the export at path, replacing what is there.
func Write(path string, cfg Config) (Stats, error) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return Stats{}, err
	}
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		return Stats{}, err
	}
	w := &writer{conn: conn, strings: map[string]int64{}, rng: rand.New(rand.NewPCG(cfg.Seed, 0x9e3779b97f4a7c15))}
	w.all(cfg)
	if err := conn.Close(); w.err == nil {
		w.err = err
	}
	return w.stats, w.err
}

// writer keeps the first error; later calls do nothing.
type writer struct {
	conn    *sqlite.Conn
	strings map[string]int64
	rng     *rand.Rand
	stats   Stats
	err     error

	kernel, call, nvtx, graph, sync *sqlite.Stmt
}

func (w *writer) exec(sql string, args ...any) {
	if w.err == nil {
		w.err = sqlitex.Execute(w.conn, sql, &sqlitex.ExecOptions{Args: args})
	}
}

func (w *writer) script(sql string) {
	if w.err == nil {
		w.err = sqlitex.ExecuteScript(w.conn, sql, nil)
	}
}

func (w *writer) prepare(sql string) *sqlite.Stmt {
	if w.err != nil {
		return nil
	}
	var stmt *sqlite.Stmt
	stmt, w.err = w.conn.Prepare(sql)
	return stmt
}

// null marks a NULL argument of insert.
const null = int64(-1) << 62

func (w *writer) insert(stmt *sqlite.Stmt, args ...int64) {
	if w.err != nil {
		return
	}
	for i, a := range args {
		if a == null {
			stmt.BindNull(i + 1)
		} else {
			stmt.BindInt64(i+1, a)
		}
	}
	w.step(stmt)
}

func (w *writer) step(stmt *sqlite.Stmt) {
	if _, err := stmt.Step(); err != nil {
		w.err = err
		return
	}
	w.err = stmt.Reset()
}

func (w *writer) id(s string) int64 {
	if id, ok := w.strings[s]; ok {
		return id
	}
	id := int64(len(w.strings) + 1)
	w.strings[s] = id
	w.exec("INSERT INTO StringIds VALUES (?, ?)", id, s)
	return id
}

func (w *writer) all(cfg Config) {
	w.exec("PRAGMA journal_mode = OFF")
	w.exec("PRAGMA synchronous = OFF")
	w.script(schema)
	if !cfg.SkipNVTX {
		w.script(schemaNVTX)
		w.nvtx = w.prepare("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, ?, ?, ?)")
	}
	if cfg.Graphs == GraphWhole {
		w.script(schemaGraph)
		w.graph = w.prepare("INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
	}
	if cfg.SyncEachStep {
		w.script(schemaSync)
		w.sync = w.prepare("INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
	}
	w.kernel = w.prepare("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
	w.call = w.prepare("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, ?, ?, ?, ?, ?, ?)")

	w.exec("BEGIN")
	w.exec("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', ?), ('EXPORT_PRODUCT_VERSION', '2026.1.0')",
		cfg.Schema)
	w.exec("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000, '', '')")
	for r := range cfg.Ranks {
		dev := int64(r)
		if cfg.LocalDevices {
			dev = 0
		}
		w.exec("INSERT INTO TARGET_INFO_GPU VALUES (?, 'NVIDIA H200', 150754820096, 132, 32, 9, 0)", r)
		w.exec("INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (?, ?, ?)", r, dev, pid(r))
		w.exec("INSERT INTO PROCESSES VALUES (?, ?, 'trtllm-serve')", pid(r)<<24, pid(r))
		w.exec("INSERT INTO ThreadNames VALUES (?, 20, ?)", w.id(fmt.Sprintf("executor-%d", r)), tid(r))
	}
	sim := newSimulation(w, cfg)
	for step := range cfg.Steps {
		sim.step(step)
	}
	w.exec("COMMIT")
}

func pid(rank int) int64 { return 1000 + int64(rank) }
func tid(rank int) int64 { return pid(rank)<<24 | pid(rank) }
