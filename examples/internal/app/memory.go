package app

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"runtime/debug"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/examples/internal/rlimit"
)

// budget is how much memory a load may need, and why.
type budget struct {
	bytes int64  // 0 for no budget
	from  string // the limit and where it is set
	raise string // what lets a load have more
}

// readFile is how files of /proc and /sys are read: os.ReadFile.
type readFile func(string) ([]byte, error)

// noLimit is the smallest figure of a control group that means no limit: version 1 writes the largest multiple of the
// page size.
const noLimit = math.MaxInt64 >> 1

// memoryBudget is the least of what the system says is free and of what the
// limits of this process leave: those of its control group and of all groups
// around that one, and of its address space. A trace that does not fit is then
// an error that says how much it would need, instead of a process that the
// system kills.
func memoryBudget(read readFile) budget {
	var b budget
	if text, err := read("/proc/meminfo"); err == nil {
		if free := keyed(text, "MemAvailable") << 10; free > 0 {
			b = budget{free, "MemAvailable of /proc/meminfo", "stop other programs"}
		}
	}
	for _, g := range memoryGroups(read) {
		if left, ok := g.left(read); ok && (b.bytes == 0 || left.bytes < b.bytes) {
			b = left
		}
	}
	if left, ok := addressSpace(read); ok && (b.bytes == 0 || left.bytes < b.bytes) {
		b = left
	}
	return b
}

// group is a control group that may limit memory, by its files.
type group struct {
	limit, usage, stat string
	cache              []string // keys of stat: memory that the kernel takes back before it kills
}

// memoryGroups returns the groups of this process, from its own outwards, as
// they are mounted where systems and containers mount them. Groups that are not
// visible from inside a container have no files.
func memoryGroups(read readFile) []group {
	text, err := read("/proc/self/cgroup")
	if err != nil {
		text = []byte("0::/\n1:memory:/\n")
	}
	var all []group
	for line := range strings.Lines(string(text)) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) < 3 {
			continue
		}
		for dir := path.Clean("/" + f[2]); ; dir = path.Dir(dir) {
			switch {
			case f[1] == "": // version 2
				at := path.Join("/sys/fs/cgroup", dir)
				all = append(all, group{at + "/memory.max", at + "/memory.current", at + "/memory.stat",
					[]string{"inactive_file", "active_file", "slab_reclaimable"}})
			case strings.Contains(","+f[1]+",", ",memory,"): // version 1
				at := path.Join("/sys/fs/cgroup/memory", dir)
				all = append(all, group{at + "/memory.limit_in_bytes", at + "/memory.usage_in_bytes",
					at + "/memory.stat",
					[]string{"total_inactive_file", "total_active_file"}})
			}
			if dir == "/" {
				break
			}
		}
	}
	return all
}

// left is what the group's limit leaves, false where it has none. File cache is
// used memory that costs nothing: a server that has read its weights sits at
// its limit with it.
func (g group) left(read readFile) (budget, bool) {
	limit, err := number(read, g.limit)
	if err != nil || limit >= noLimit {
		return budget{}, false // "max", or no such file
	}
	used, err := number(read, g.usage)
	if err != nil {
		used = 0
	}
	var cache int64
	if text, err := read(g.stat); err == nil {
		for _, key := range g.cache {
			cache += keyed(text, key)
		}
	}
	used -= min(max(cache, 0), used)
	return budget{max(limit-used, 1), fmt.Sprintf("%s is %d MB; %d MB are in use without file cache", g.limit,
		limit/1e6, used/1e6),
		"give the container or job more memory"}, true
}

// addressSpace is what RLIMIT_AS leaves for a load, false where there is no such
// limit. Go's runtime crashes where it gets no memory, so that a load must stop
// well before.
func addressSpace(read readFile) (budget, bool) {
	text, err := read("/proc/self/limits")
	if err != nil {
		return budget{}, false
	}
	const key = "Max address space"
	for line := range strings.Lines(string(text)) {
		rest, ok := strings.CutPrefix(line, key)
		f := strings.Fields(rest)
		if !ok || len(f) == 0 {
			continue
		}
		limit, err := strconv.ParseInt(f[0], 10, 64)
		if err != nil || limit >= noLimit {
			break // "unlimited"
		}
		var used int64
		if status, err := read("/proc/self/status"); err == nil {
			used = keyed(status, "VmSize") << 10
		}
		return budget{max((limit-used-rlimit.Least)/rlimit.PerByte, 1),
			fmt.Sprintf("the limit of address space (ulimit -v, RLIMIT_AS) is %d MB; %d MB are in use",
				limit/1e6, used/1e6),
			"raise it with ulimit -v"}, true
	}
	return budget{}, false
}

// memoryBudget is --memory-limit, or else what the system leaves.
func (e *Env) memoryBudget() budget {
	switch {
	case !e.memory.set:
		return memoryBudget(os.ReadFile)
	case e.memory.bytes == 0:
		return budget{}
	}
	return budget{e.memory.bytes, "--memory-limit", "give a larger one"}
}

// explain adds to the error of a load that ran out of its budget which limit
// that is, and what to do.
func (b budget) explain(err error) error {
	var over interface{ MemoryBudget() int64 }
	if !errors.As(err, &over) {
		return err
	}
	return fmt.Errorf("%w; the budget is from this limit: %s; %s, or set the budget yourself with --memory-limit SIZE "+
		"(0: none)", err, b.from, b.raise)
}

// memoryLimit is the value of --memory-limit.
type memoryLimit struct {
	bytes int64
	set   bool
}

func (m *memoryLimit) String() string {
	if !m.set {
		return auto
	}
	return strconv.FormatInt(m.bytes, 10)
}

// memoryUnits are in the order in which endings are looked for.
var memoryUnits = []struct {
	name  string
	bytes float64
}{{"KIB", 1 << 10}, {"MIB", 1 << 20}, {"GIB", 1 << 30}, {"TIB", 1 << 40}, {"KB", 1e3}, {"MB", 1e6}, {"GB", 1e9},
	{"TB", 1e12}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"B", 1}, {"", 1}}

// leastMemory is in bytes: limits are printed in MB.
const leastMemory = 1e6

// Set accepts 2000000, 500MB, 2GiB, 0 and auto.
func (m *memoryLimit) Set(text string) error {
	*m = memoryLimit{}
	if text == auto {
		return nil
	}
	number := strings.ToUpper(strings.ReplaceAll(text, " ", ""))
	for _, u := range memoryUnits {
		if digits, ok := strings.CutSuffix(number, u.name); ok {
			n, err := strconv.ParseFloat(digits, 64)
			if err != nil || n != n || n < 0 || n*u.bytes > 1e18 || n > 0 && n*u.bytes < leastMemory {
				break
			}
			*m = memoryLimit{int64(n * u.bytes), true}
			return nil
		}
	}
	return errors.New("want a size such as 500MB or 2GB, at least 1MB")
}

// keyed returns the number after a key of /proc/meminfo, /proc/self/status or
// memory.stat, 0 for none.
func keyed(text []byte, key string) int64 {
	for line := range bytes.Lines(text) {
		f := bytes.Fields(line)
		if len(f) > 1 && strings.TrimSuffix(string(f[0]), ":") == key {
			n, _ := strconv.ParseInt(string(f[1]), 10, 64)
			return n
		}
	}
	return 0
}

func number(read readFile, path string) (int64, error) {
	text, err := read(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
}

// gcPercent is GOGC: garbage in percent of the memory in use. Traces are columns without pointers, so collections cost
// little, and less garbage is worth more than rare collections.
const gcPercent = 10

// collectOften keeps garbage small; it changes nothing if the environment sets GOGC.
func collectOften() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
}
