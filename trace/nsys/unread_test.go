package nsys_test

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
)

// unreadTables are the layouts of tables that nothing reads yet.
var unreadTables = map[string]string{
	"CUDA_GPU_MEMORY_USAGE_EVENTS":   `start, globalPid, deviceId, contextId, address, bytes, memKind, memoryOperationType`,
	"CUDA_CALLCHAINS":                `id, symbol, module, stackDepth`,
	"NVTX_PAYLOAD_SCHEMAS":           `domainId, schemaId, name, type, payloadSize`,
	"CUPTI_ACTIVITY_KIND_CUDA_EVENT": `timestamp, deviceId, contextId, streamId, correlationId, globalPid, eventId`,
	"CUDA_GRAPH_NODE_EVENTS":         `start, "end", globalTid, nameId, graphNodeId, originalGraphNodeId`,
	"GPU_METRICS":                    `rawTimestamp, timestamp, typeId, metricId, value`,
	"GPU_CONTEXT_SWITCH_EVENTS":      `tag, vmId, seqNo, contextId, timestamp, globalPid, gpuId`,
	"CUDA_UM_CPU_PAGE_FAULT_EVENTS":  `start, globalPid, address, CpuInstruction, module`,
	"CUDA_UM_GPU_PAGE_FAULT_EVENTS":  `start, "end", globalPid, deviceId, address, numberOfPageFaults`,
	"CUDA_HOST_CALLBACK":             `start, "end", globalTid`,
}

// TestUnreadTablesAreNamed: each table with rows that nothing reads is said, with what it would add; empty ones are
// not, and a row in one changes no activity.
func TestUnreadTablesAreNamed(t *testing.T) {
	for table, columns := range unreadTables {
		for rows := range 2 {
			path := made(t, `CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'k');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, "end" INT, deviceId INT, streamId INT, correlationId INT, demangledName INT, shortName INT);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 0, 7, 1, 1, 1);
CREATE TABLE `+table+"("+columns+");"+strings.Repeat("INSERT INTO "+table+" VALUES (1"+
				strings.Repeat(", 1", strings.Count(columns, ","))+");", rows))
			tr, err := trace.Open(t.Context(), path, trace.Options{Formats: nsys.Formats()})
			if err != nil {
				t.Fatal(err)
			}
			var said string
			for _, l := range tr.Health().Losses {
				if l.Reason == event.Unread {
					said += l.Detail
				}
			}
			if strings.HasPrefix(said, table+" (") != (rows > 0) || tr.Len(event.LaneGPU) != 1 {
				t.Errorf("%s with %d rows: health says %q", table, rows, said)
			}
		}
	}
	for table, adds := range nsys.Unread() {
		if unreadTables[table] == "" || adds == "" {
			t.Errorf("%s (%q) has no case", table, adds)
		}
	}
}
