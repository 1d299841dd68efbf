package app

import (
	"bytes"
	"os"
	"strconv"
)

// memoryBudget is how much memory a load may need: what the system says is
// free, and no more than the container's limit leaves. 0, no budget, where
// neither is known. A trace that does not fit is then an error that says how
// much it would need, instead of a process that the system kills.
func memoryBudget(readFile func(string) ([]byte, error)) int64 {
	free := int64(0)
	if text, err := readFile("/proc/meminfo"); err == nil {
		free = meminfo(text, "MemAvailable") << 10
	}
	limit, err := number(readFile, "/sys/fs/cgroup/memory.max")
	if err != nil {
		return free // "max": no limit; or no such file
	}
	used, err := number(readFile, "/sys/fs/cgroup/memory.current")
	if err != nil {
		used = 0
	}
	if left := max(limit-used, 1); free == 0 || left < free {
		return left
	}
	return free
}

// systemMemoryBudget is memoryBudget on this system.
func systemMemoryBudget() int64 { return memoryBudget(os.ReadFile) }

// meminfo returns the kilobytes that /proc/meminfo gives for a key, 0 for none.
func meminfo(text []byte, key string) int64 {
	for line := range bytes.Lines(text) {
		name, rest, ok := bytes.Cut(line, []byte(":"))
		if f := bytes.Fields(rest); ok && string(name) == key && len(f) > 0 {
			n, _ := strconv.ParseInt(string(f[0]), 10, 64)
			return n
		}
	}
	return 0
}

func number(readFile func(string) ([]byte, error), path string) (int64, error) {
	text, err := readFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
}
