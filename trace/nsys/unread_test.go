package nsys_test

import (
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
)

// TestUnreadTablesAreNamed: tables with rows that nothing reads are said, with what they would add; empty ones are not.
func TestUnreadTablesAreNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.sqlite")
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteScript(conn, `CREATE TABLE StringIds(id INTEGER PRIMARY KEY, value TEXT); INSERT INTO StringIds VALUES (1, 'k');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INT, "end" INT, deviceId INT, streamId INT, correlationId INT, demangledName INT, shortName INT);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1000, 2000, 0, 7, 1, 1, 1);
CREATE TABLE GPU_METRICS(rawTimestamp INT, timestamp INT, typeId INT, metricId INT, value INT); INSERT INTO GPU_METRICS VALUES (1, 1, 1, 1, 1), (2, 2, 1, 1, 1);
CREATE TABLE CUDA_CALLCHAINS(id INT);`, nil)
	if cerr := conn.Close(); err != nil || cerr != nil {
		t.Fatal(err, cerr)
	}
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
	if !strings.Contains(said, "GPU_METRICS would add") || strings.Contains(said, "CUDA_CALLCHAINS") {
		t.Errorf("health says %q", said)
	}
}
