package app

import (
	"os"
	"testing"
)

func TestMemoryBudgetIsWhatIsFree(t *testing.T) {
	const meminfo, max, current = "/proc/meminfo", "/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"
	for name, c := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known":       {nil, 0},
		"system":              {map[string]string{meminfo: "MemTotal:  9 kB\nMemAvailable:    2 kB\n"}, 2048},
		"unlimited container": {map[string]string{meminfo: "MemAvailable: 2 kB\n", max: "max\n"}, 2048},
		"small container":     {map[string]string{meminfo: "MemAvailable: 2 kB\n", max: "1500\n", current: "500\n"}, 1000},
		"large container":     {map[string]string{meminfo: "MemAvailable: 2 kB\n", max: "90000\n", current: "500\n"}, 2048},
		"full container":      {map[string]string{meminfo: "MemAvailable: 2 kB\n", max: "500\n", current: "500\n"}, 1},
	} {
		got := memoryBudget(func(path string) ([]byte, error) {
			if text, ok := c.files[path]; ok {
				return []byte(text), nil
			}
			return nil, os.ErrNotExist
		})
		if got != c.want {
			t.Errorf("%s: %d bytes, want %d", name, got, c.want)
		}
	}
}
