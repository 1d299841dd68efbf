package command_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestDirectoriesTellTheirRanks: every command that is given a directory says which ranks it reads, and which it does
// not.
func TestDirectoriesTellTheirRanks(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"run-TP-0.trace.json.gz", "run-TP-1.trace.json.gz"} {
		if err := os.WriteFile(filepath.Join(dir, name), demo.Trace(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []string{"report", "layers", "breakdown", "triage", "host", "export", "perfetto",
		"host-compare --trace", "compare --save " + filepath.Join(t.TempDir(), "side.json") + " --b"} {
		r := run(t, "", append(strings.Fields(c), dir)...)
		all := strings.Count(r.Stderr, "reading "+filepath.Join(dir, "run-TP-"))
		none := strings.Count(r.Stderr, "not read: "+filepath.Join(dir, "run-TP-"))
		want := 1
		// ranks wait for each other, and are compared rank by rank
		if c == "host" || c == "report" || strings.HasPrefix(c, "compare ") {
			want = 2
		}
		if r.Code != app.ExitOK || all != want || none != 2-want {
			t.Errorf("%s: exit code %d, reads %d and leaves out %d: %s", c, r.Code, all, none, r.Stderr)
		}
	}
}

// TestDeviceFlag: commands about one GPU take --device, say which one they took without it, and refuse one that is
// not there.
func TestDeviceFlag(t *testing.T) {
	two := filepath.Join(t.TempDir(), "two.sqlite")
	if _, err := nsysgen.Write(two, nsysgen.Default(1)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"layers", "breakdown", "export", "perfetto"} {
		chosen, other := run(t, "", c, two), run(t, "", c, two, "--device", "0")
		if chosen.Code != app.ExitOK || other.Code != app.ExitOK || chosen.Stdout == other.Stdout {
			t.Errorf("%s: exit codes %d and %d, equal output %v: %s", c, chosen.Code, other.Code,
				chosen.Stdout == other.Stdout, other.Stderr)
		}
		if !strings.Contains(chosen.Stderr, "GPU 1 of 2") || strings.Contains(other.Stderr, "GPU 1 of 2") {
			t.Errorf("%s: notes %q and %q", c, chosen.Stderr, other.Stderr)
		}
	}
	for _, c := range []string{"triage", "host-compare"} { // without --device these sum over all
		all, other := run(t, "", c, two), run(t, "", c, two, "--device", "0")
		busiest := run(t, "", c, two, "--device", "busiest")
		if all.Code+other.Code+busiest.Code != app.ExitOK || all.Stdout == other.Stdout ||
			busiest.Stdout == other.Stdout || busiest.Stdout == all.Stdout {
			t.Errorf("%s: all, GPU 0 and the busiest do not differ: %s", c, other.Stderr)
		}
		if !strings.Contains(busiest.Stderr, "GPU 1 of 2") || all.Stderr != "" || other.Stderr != "" {
			t.Errorf("%s: notes %q, %q, %q", c, busiest.Stderr, all.Stderr, other.Stderr)
		}
		if same := run(t, "", c, two, "--device", "all"); same.Stdout != all.Stdout {
			t.Errorf("%s --device all is not what it prints without --device", c)
		}
	}
	for _, c := range []string{"report", "layers", "breakdown", "export", "perfetto", "triage", "host-compare",
		"compare --save " + filepath.Join(t.TempDir(), "x.json") + " --b"} {
		for device, code := range map[string]int{"7": app.ExitError, "-1": app.ExitUsage, "many": app.ExitUsage} {
			if r := run(t, "", append(strings.Fields(c), two, "--device", device)...); r.Code != code ||
				!strings.Contains(r.Stderr, device) {
				t.Errorf("%s --device %s: exit code %d, want %d: %s", c, device, r.Code, code, r.Stderr)
			}
		}
	}
}

// TestGPUsAddUp: triage's figures of each GPU add up to those of both, and compare separates the GPUs of a run.
func TestGPUsAddUp(t *testing.T) {
	two := testdata.Shared(t, "traces/nsys/torchrun-2gpu-hopper.sqlite")
	us := func(device string) float64 {
		var r struct {
			Stages []struct {
				GPUTimeUS float64 `json:"gpu_time_us"`
			}
		}
		if err := json.Unmarshal([]byte(run(t, "", "triage", two, "--format", "json", "--device", device).Stdout),
			&r); err != nil || len(r.Stages) != 1 {
			t.Fatalf("--device %s: %v, %d stages, want one", device, err, len(r.Stages))
		}
		return r.Stages[0].GPUTimeUS
	}
	if all, sum := us("all"), us("0")+us("1"); math.Abs(all-sum) > 1e-6*all || us("busiest") != us("0") {
		t.Errorf("both GPUs take %.1f µs, their sum is %.1f", all, sum)
	}
	// the passes of the other one are cut by the window
	two = testdata.Shared(t, "traces/nsys/pytorch-2gpu-h100.sqlite")
	side := filepath.Join(t.TempDir(), "gpu0.json")
	run(t, "", "compare", "--b", two, "--device", "0", "--save", side)
	for device, equal := range map[string]bool{"0": true, "1": false} {
		var r struct {
			A, B struct {
				Wall int64 `json:"wall_ns"`
			}
		}
		got := run(t, "", "compare", "--baseline", side, "--b", two, "--device", device, "--format", "json")
		if err := json.Unmarshal([]byte(got.Stdout), &r); err != nil || r.A.Wall == 0 ||
			(r.A.Wall == r.B.Wall) != equal {
			t.Errorf("GPU 0 beside GPU %s: walls %d and %d, equal wanted: %v (%v)", device, r.A.Wall, r.B.Wall, equal,
				err)
		}
	}
}

// TestConfigOfAnotherModelIsSaid: every command with the flag --config says that the config's layers are not those of
// the demo, once, or fails with it.
func TestConfigOfAnotherModelIsSaid(t *testing.T) {
	path, tried := filepath.Join(t.TempDir(), "run-TP-0.trace.json.gz"), 0
	if err := os.WriteFile(path, demo.Trace(), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"report", "answer", "layers", "breakdown", "light", "triage", "host", "what-if", "fleet",
		"digest", "export", "perfetto"} {
		if !strings.Contains(run(t, "", c, "--help").Stdout, "--config ") {
			continue
		}
		tried++
		r := run(t, "", c, path, "--config", "llama-3.1-405b")
		if n := strings.Count(r.Stderr, "126 layers") + strings.Count(r.Stdout, "the config says 126 layers"); n == 0 ||
			strings.Count(r.Stderr, "126 layers") > 1 {
			t.Errorf("%s: exit code %d, said %d times: %s", c, r.Code, n, r.Stderr)
		}
	}
	if tried < 8 {
		t.Errorf("%d commands have the flag", tried)
	}
}
