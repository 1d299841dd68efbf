package app

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/rlimit"
	"github.com/llmstrata/strata/trace"
)

func TestMemoryBudgetIsWhatIsFree(t *testing.T) {
	const (
		meminfo, self, limits = "/proc/meminfo", "/proc/self/cgroup", "/proc/self/limits"
		v2, v1                = "/sys/fs/cgroup", "/sys/fs/cgroup/memory"
		limit, current        = v2 + "/memory.max", v2 + "/memory.current"
		available             = "MemAvailable: 2 kB\n"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
		from  string
	}{
		"nothing known": {nil, 0, ""},
		"system": {map[string]string{meminfo: "MemTotal:  9 kB\nMemAvailable:    2 kB\n"}, 2048,
			"MemAvailable"},
		"unlimited container": {map[string]string{meminfo: available, limit: "max\n"}, 2048, "MemAvailable"},
		"small container":     {map[string]string{meminfo: available, limit: "1500\n", current: "500\n"}, 1000, limit},
		"large container": {map[string]string{meminfo: available, limit: "90000\n", current: "500\n"}, 2048,
			"MemAvailable"},
		"full container": {map[string]string{meminfo: available, limit: "500\n", current: "500\n"}, 1, limit},
		"full of file cache": {map[string]string{meminfo: available, limit: "1500\n", current: "1500\n",
			v2 + "/memory.stat": "anon 400\nfile 1100\ninactive_file 700\nactive_file 300\nslab_reclaimable 100\n"},
			1100, limit},
		"more cache than usage, as the counters race": {map[string]string{limit: "1500\n", current: "100\n",
			v2 + "/memory.stat": "active_file 300\n"}, 1500, limit},
		"version 2, the group around is smaller": {map[string]string{meminfo: available, self: "0::/job/step\n",
			v2 + "/job/step/memory.max": "max\n", v2 + "/job/memory.max": "900\n", v2 + "/job/memory.current": "100\n"},
			800, v2 + "/job/memory.max"},
		"version 2, the group's path is not mounted": {map[string]string{self: "0::/docker/0123\n", limit: "900\n"},
			900, limit},
		"version 1": {map[string]string{meminfo: available, self: "5:cpu:/\n4:memory:/a/b\n0::/\n",
			v1 + "/a/b/memory.limit_in_bytes": "1800\n", v1 + "/a/b/memory.usage_in_bytes": "1700\n",
			v1 + "/a/b/memory.stat":       "inactive_file 1\ntotal_inactive_file 600\ntotal_active_file 100\n",
			v1 + "/memory.limit_in_bytes": "9223372036854771712\n"}, 800, v1 + "/a/b/memory.limit_in_bytes"},
		"address space": {map[string]string{limits: fmt.Sprintf("Limit  Soft Limit  Hard Limit  Units\nMax address "+
			"space         %d                 unlimited            bytes\n", rlimit.Least+12*5000+2048),
			"/proc/self/status": "Name:\tx\nVmSize:\t       2 kB\n"}, 5000, "RLIMIT_AS"},
		"address space that is not enough": {map[string]string{meminfo: available,
			limits: fmt.Sprintf("Max address space         %d                 unlimited            bytes\n",
				rlimit.Least)}, 1, "RLIMIT_AS"},
		"no limit of address space": {map[string]string{meminfo: available,
			limits: "Max address space         unlimited            unlimited            bytes\n"}, 2048,
			"MemAvailable"},
	} {
		got := memoryBudget(func(path string) ([]byte, error) {
			if text, ok := c.files[path]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		})
		if got.bytes != c.want || !strings.Contains(got.from, c.from) {
			t.Errorf("%s: %d bytes from %q, want %d from %q", name, got.bytes, got.from, c.want, c.from)
		}
	}
}

func TestMemoryLimitOverrides(t *testing.T) {
	for text, want := range map[string]int64{"4GB": 4e9, "2MiB": 2 << 20, "0": 0} {
		e := &Env{}
		if err := e.memory.Set(text); err != nil {
			t.Fatal(err)
		}
		if got := e.memoryBudget().bytes; got != want {
			t.Errorf("--memory-limit %s: %d bytes, want %d", text, got, want)
		}
	}
}

// TestMemoryLimitIsPrinted: a limit that would be printed as 0 MB is refused.
func TestMemoryLimitIsPrinted(t *testing.T) {
	if err := new(memoryLimit).Set("1kB"); err == nil || !strings.Contains(err.Error(), "at least 1MB") {
		t.Errorf("1kB: %v", err)
	}
}

// TestMemoryErrorNamesItsLimit: and no other error is touched.
func TestMemoryErrorNamesItsLimit(t *testing.T) {
	var events strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&events, `{"ph":"X","cat":"kernel","name":"k%d","ts":%d,"dur":1,"pid":0,"tid":7,"args":{"device":0,"stream":7}},`, i, 2*i)
	}
	in := `{"traceEvents":[` + strings.TrimSuffix(events.String(), ",") + `]}`
	_, err := trace.Read(t.Context(), strings.NewReader(in), trace.Options{MemoryBudget: 1000})
	if !errors.Is(err, trace.ErrLimit) {
		t.Fatalf("error %v, want a limit", err)
	}
	got := budget{1000, "/x/memory.max is 1 MB", "give the container more"}.explain(err)
	for _, want := range []string{"events need more", "/x/memory.max is 1 MB", "give the container more",
		"--memory-limit"} {
		if !strings.Contains(got.Error(), want) {
			t.Errorf("%q does not say %q", got, want)
		}
	}
	if !errors.Is(got, trace.ErrLimit) {
		t.Errorf("%v does not wrap the limit", got)
	}
	if other := errors.New("other"); (budget{}).explain(other) != other {
		t.Errorf("another error was changed")
	}
}

// TestCollectOften: garbage stays small, or as large as GOGC allows.
func TestCollectOften(t *testing.T) {
	const before = 77
	defer debug.SetGCPercent(debug.SetGCPercent(before))
	for env, want := range map[string]int{"": gcPercent, "100": before} {
		t.Setenv("GOGC", env)
		collectOften()
		if got := debug.SetGCPercent(before); got != want {
			t.Errorf("GOGC=%q: %d%% of garbage, want %d", env, got, want)
		}
	}
}
