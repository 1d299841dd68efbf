package apptest_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/examples/internal/programs"
	"github.com/llmstrata/strata/examples/internal/programs/triage"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestProgramsEqualRawSums: each program's figures of a rocprofv3 document, a rocpd database and an XSpace are the sums
// over the raw file. The tests EqualsItsRawSums and SampleDatabase of the readers add these up from the files' bytes.
func TestProgramsEqualRawSums(t *testing.T) {
	for _, c := range []struct {
		path          string
		kernels       int
		sum           int64   // ns of the GPU of most time
		all           float64 // µs of all GPUs
		busy          []int64 // union of each GPU, ns
		whyBusyIsLess string
	}{
		{"rocprofv3-908_results.json.gz", 43915, 4441741378, 4441741.378, []int64{4233112334}, "1,275 overlap"},
		{"rocpd-3.0.0-sample.db", 2, 1600, 1.6, []int64{1600}, ""},
		{"jax-conv-mi300.xplane.pb", 60, 4000165, 28137.077, []int64{3995965, 3345845, 3524285, 3403364, 3493365, 3464884,
			3403004, 3502165}, "two streams of GPU 0 overlap"},
	} {
		path := testdata.Shared(t, "traces/other/"+c.path)
		say := func(p app.Program, into any) {
			t.Helper()
			out := apptest.MustRun(t, p, "--trace", path, "--format", "json").Stdout
			if err := json.Unmarshal([]byte(out), into); err != nil {
				t.Fatal(err)
			}
		}
		var sums, passes struct {
			GPUTime int64 `json:"gpu_time_ns"`
		}
		say(programs.Report(), &sums)
		say(programs.LayerTimeline(), &passes)
		if sums.GPUTime != c.sum || passes.GPUTime != c.sum {
			t.Errorf("%s: report %d ns, layers %d, want %d", c.path, sums.GPUTime, passes.GPUTime, c.sum)
		}
		if c.kernels > 10_000 && !testdata.Long() {
			continue // half a minute for the other programs
		}
		var stages struct {
			Stages []struct {
				Time float64 `json:"gpu_time_us"`
			} `json:"stages"`
		}
		say(triage.Program(), &stages)
		var us float64
		for _, s := range stages.Stages {
			us += s.Time
		}
		if math.Abs(us-c.all) > 1e-3 {
			t.Errorf("%s: triage %.3f µs, want %.3f", c.path, us, c.all)
		}
		var host struct {
			Ranks []struct {
				Busy int64 `json:"busy_ns"`
			} `json:"ranks"`
		}
		say(programs.HostDetect(), &host)
		for i, want := range c.busy {
			if len(host.Ranks) != len(c.busy) || host.Ranks[i].Busy != want {
				t.Errorf("%s: host %+v, want %v (%s)", c.path, host.Ranks, c.busy, c.whyBusyIsLess)
				break
			}
		}
		var light struct {
			Steady    int `json:"steady_pass"`
			Operators []struct {
				Time int64 `json:"time_ns"`
			} `json:"operators"`
		}
		say(programs.SpeedOfLight(), &light)
		var inPass, rows, sum int64
		for _, o := range light.Operators {
			inPass += o.Time
		}
		out := apptest.MustRun(t, programs.KernelExport(), "--trace", path, "--format", "ndjson").Stdout
		for _, v := range values(t, out) {
			row := v.(map[string]any)
			rows++
			sum += int64(row["dur_ns"].(float64))
			if int(row["pass"].(float64)) == light.Steady {
				inPass -= int64(row["dur_ns"].(float64))
			}
		}
		if rows != int64(c.kernels) || sum != c.sum || inPass != 0 {
			t.Errorf("%s: export %d rows of %d ns, want %d of %d; light has %d ns more than the rows of its pass", c.path,
				rows, sum, c.kernels, c.sum, inPass)
		}
	}
}
