package programs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestKernelExportCSVIsSafeForSpreadsheets: no name of a trace is a formula or reaches a
// terminal's control, and as recorded only the latter is replaced.
func TestKernelExportCSVIsSafeForSpreadsheets(t *testing.T) {
	names := []string{"=cmd|'/c calc'!A1", "+1", "-1", "@SUM(1)", "\tx", "a\ufffd[31mb", "plain, a=b"}
	safe := []string{"'=cmd|'/c calc'!A1", "'+1", "'-1", "'@SUM(1)", "' x", "a\ufffd[31mb", "plain, a=b"}
	var events []string
	for i, name := range []string{`=cmd|'/c calc'!A1`, "+1", "-1", "@SUM(1)", `\tx`, `a\u001b[31mb`, "plain, a=b"} {
		events = append(events, `{"ph":"X","cat":"kernel","name":"`+name+`","pid":0,"tid":7,"ts":`+string(rune('1'+i))+
			`0,"dur":1,"args":{"device":0,"stream":7}}`)
	}
	path := filepath.Join(t.TempDir(), "x.json")
	if err := os.WriteFile(path, []byte(`{"traceEvents":[`+strings.Join(events, ",")+`]}`), 0o644); err != nil {
		t.Fatal(err)
	}
	for flag, want := range map[string][]string{"--csv-safe": safe, "--csv-safe=false": names} {
		got := exportedRows(t, "--trace", path, flag)
		if len(got) != len(want) {
			t.Fatalf("%s: %d rows, want %d", flag, len(got), len(want))
		}
		for i, row := range got {
			if row["name"] != want[i] {
				t.Errorf("%s: name %q, want %q", flag, row["name"], want[i])
			}
		}
	}
	if got := exportedRows(t, "--trace", path); got[0]["name"] != safe[0] {
		t.Errorf("without the flag: name %q, want %q", got[0]["name"], safe[0])
	}
}
