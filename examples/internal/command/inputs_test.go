package command_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestDirectoriesTellTheirRanks: every command that is given a directory says which ranks it reads, and which it does not.
func TestDirectoriesTellTheirRanks(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"run-TP-0.trace.json.gz", "run-TP-1.trace.json.gz"} {
		if err := os.WriteFile(filepath.Join(dir, name), demo.Trace(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []string{"report", "layers", "breakdown", "triage", "host", "export", "perfetto", "host-compare --trace", "compare --save " + filepath.Join(t.TempDir(), "side.json") + " --b"} {
		r := run(t, "", append(strings.Fields(c), dir)...)
		all := strings.Count(r.Stderr, "reading "+filepath.Join(dir, "run-TP-"))
		none := strings.Count(r.Stderr, "not read: "+filepath.Join(dir, "run-TP-"))
		want := 1
		if c == "host" { // ranks wait for each other
			want = 2
		}
		if r.Code != app.ExitOK || all != want || none != 2-want {
			t.Errorf("%s: exit code %d, reads %d and leaves out %d: %s", c, r.Code, all, none, r.Stderr)
		}
	}
}

// TestDeviceFlag: commands about one GPU take --device, say which one they took without it, and refuse one that is not there.
func TestDeviceFlag(t *testing.T) {
	two := testdata.Shared(t, "traces/nsys/torchrun-2gpu-hopper.sqlite")
	for _, c := range []string{"layers", "breakdown", "export", "perfetto"} {
		chosen, other := run(t, "", c, two), run(t, "", c, two, "--device", "1")
		if chosen.Code != app.ExitOK || other.Code != app.ExitOK || chosen.Stdout == other.Stdout {
			t.Errorf("%s: exit codes %d and %d, equal output %v: %s", c, chosen.Code, other.Code, chosen.Stdout == other.Stdout, other.Stderr)
		}
		if !strings.Contains(chosen.Stderr, "GPU 0 of 2") || strings.Contains(other.Stderr, "GPU 0 of 2") {
			t.Errorf("%s: notes %q and %q", c, chosen.Stderr, other.Stderr)
		}
	}
	for _, c := range []string{"report", "layers", "breakdown", "export", "perfetto"} {
		for device, code := range map[string]int{"7": app.ExitError, "-1": app.ExitUsage, "many": app.ExitUsage} {
			if r := run(t, "", c, two, "--device", device); r.Code != code || !strings.Contains(r.Stderr, device) {
				t.Errorf("%s --device %s: exit code %d, want %d: %s", c, device, r.Code, code, r.Stderr)
			}
		}
	}
}
