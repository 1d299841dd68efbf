package nsysgen

import (
	"fmt"
	"math/rand/v2"

	"github.com/llmstrata/strata/internal/gen/database"
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
	db, stats, err := Build(cfg)
	if err != nil {
		return stats, err
	}
	return stats, db.WriteFile(path)
}

// Build returns what Write writes.
func Build(cfg Config) (*database.Database, Stats, error) {
	w := &writer{strings: map[string]int64{}, rng: rand.New(rand.NewPCG(cfg.Seed, 0x9e3779b97f4a7c15))}
	w.all(cfg)
	return &w.db, w.stats, w.err
}

// writer keeps the first error; later calls do nothing.
type writer struct {
	db      database.Database
	strings map[string]int64
	rng     *rand.Rand
	stats   Stats
	err     error

	kernel, call, nvtx, graph, sync *database.Table
}

func (w *writer) exec(sql string, args ...any) {
	if w.err == nil {
		w.err = w.db.Exec(sql, args...)
	}
}

// null marks a NULL argument of insert.
const null = int64(-1) << 62

func (w *writer) insert(t *database.Table, args ...int64) {
	if w.err != nil {
		return
	}
	row := make([]any, len(args))
	for i, a := range args {
		if a != null {
			row[i] = a
		}
	}
	t.Insert(row...)
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
	w.exec(schema)
	if !cfg.SkipNVTX {
		w.exec(schemaNVTX)
		w.nvtx = w.db.Table("NVTX_EVENTS")
	}
	if cfg.Graphs == GraphWhole {
		w.exec(schemaGraph)
		w.graph = w.db.Table("CUPTI_ACTIVITY_KIND_GRAPH_TRACE")
	}
	if cfg.SyncEachStep {
		w.exec(schemaSync)
		w.sync = w.db.Table("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION")
	}
	w.kernel = w.db.Table("CUPTI_ACTIVITY_KIND_KERNEL")
	w.call = w.db.Table("CUPTI_ACTIVITY_KIND_RUNTIME")
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
}

func pid(rank int) int64 { return 1000 + int64(rank) }
func tid(rank int) int64 { return pid(rank)<<24 | pid(rank) }
