// Command readbench measures how fast and in how much memory traces load, and
// compares with Python's json.load on the same file in the same run:
//
//	go run ./internal/readbench -size 1e9
//	go run ./internal/readbench -trace FILE.json.gz -python=false
//
// Without -trace it writes a deterministic, real-looking trace with Python
// stacks (see generate.go) to a temporary directory, plain, gzipped and
// zstd-compressed. Every load runs in a process of its own, -n times, so that the peak
// resident set is that of the load alone; medians are printed.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/llmstrata/strata/trace"
)

// sample is what one child process reports.
type sample struct {
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu_seconds"` // user and system, of all threads
	RSS     int64   `json:"rss_bytes"`
	Events  int64   `json:"events"`
}

func main() {
	log.SetFlags(0)
	size := flag.Float64("size", 1e8, "bytes of the generated trace")
	path := flag.String("trace", "", "measure this plain or gzipped trace instead")
	runs := flag.Int("n", 3, "runs of each measurement")
	python := flag.Bool("python", true, "compare with python3's json.load")
	child := flag.String("child", "", "measure one thing and print it as JSON (used internally)")
	flag.Parse()
	var err error
	if *child != "" {
		err = measure(*child, *path)
	} else {
		err = compare(int64(*size), *path, *runs, *python)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// measure does one piece of work and prints a sample.
func measure(what, path string) error {
	start := time.Now()
	events, err := work(what, path)
	if err != nil {
		return err
	}
	s := sample{Seconds: time.Since(start).Seconds(), Events: events, RSS: peakRSS(), CPU: cpuSeconds()}
	return json.NewEncoder(os.Stdout).Encode(s)
}

func work(what, path string) (int64, error) {
	ctx := context.Background()
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	switch what {
	case "gunzip":
		z, err := gzip.NewReader(bufio.NewReaderSize(f, 256<<10))
		if err != nil {
			return 0, err
		}
		_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{z}, make([]byte, 512<<10))
		return 0, err
	case "reader":
		r, err := trace.NewReader(f)
		if err != nil {
			return 0, err
		}
		defer r.Close()
		var n int64
		for {
			if _, err := r.Next(); err != nil {
				if errors.Is(err, io.EOF) {
					err = nil
				}
				return n, err
			}
			n++
		}
	}
	opts := map[string][]trace.Option{
		"all":    {},
		"python": {trace.WithoutPython()},
		"gpu":    {trace.WithLanes(trace.LaneGPU, trace.LaneLaunch)},
	}[what]
	t, err := trace.Open(ctx, path, opts...)
	if err != nil {
		return 0, err
	}
	var n int64
	for _, c := range t.Counts() {
		n += c.Count
	}
	if h := t.Health(); h.Activities == 0 {
		return 0, fmt.Errorf("nothing was loaded: %+v", h)
	}
	return n, nil
}

// peakRSS returns VmHWM, 0 where there is no /proc.
func peakRSS() int64 {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
			return kb << 10
		}
	}
	return 0
}

// cpuSeconds returns what the process has used, 0 where there is no /proc.
func cpuSeconds() float64 {
	b, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return 0
	}
	// Fields 14 and 15, counted behind the parenthesised command name, in ticks of
	// 1/100 s on every Linux that Go supports.
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseFloat(f[11], 64)
	system, _ := strconv.ParseFloat(f[12], 64)
	return (user + system) / 100
}

// spawn runs this program (or another) as a child and reads its sample.
func spawn(env []string, name string, args ...string) (sample, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	var s sample
	if err == nil {
		err = json.Unmarshal(out, &s)
	}
	return s, err
}

const pythonLoad = `
import gzip, json, resource, sys, time
t = time.perf_counter()
f = gzip.open(sys.argv[1], "rb") if sys.argv[1].endswith(".gz") else open(sys.argv[1], "rb")
n = len(json.load(f)["traceEvents"])
print(json.dumps({"seconds": time.perf_counter() - t, "events": n, "cpu_seconds": time.process_time(),
    "rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
`

func compare(size int64, path string, runs int, python bool) error {
	dir, err := os.MkdirTemp("", "readbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	plain := filepath.Join(dir, "trace.json")
	if path == "" {
		err = writeFile(plain, func(w io.Writer) error { return generate(w, size) })
	} else {
		err = unpack(plain, path)
	}
	if err != nil {
		return err
	}
	gz, zs := plain+".gz", plain+".zst"
	if err := compress(plain, gz, zs); err != nil {
		return err
	}
	info, err := os.Stat(plain)
	if err != nil {
		return err
	}
	total := info.Size()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	fmt.Printf("%s, %s/%s, %d CPUs; trace of %.3f GB\n\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), float64(total)/1e9)
	fmt.Printf("%-40s %8s %7s %7s %9s %9s %9s\n", "load", "seconds", "CPU s", "MB/s", "ns/event", "peak MB", "% of file")
	row := func(label string, run func() (sample, error)) (sample, error) {
		var all []sample
		for range runs {
			s, err := run()
			if err != nil {
				return s, fmt.Errorf("%s: %w", label, err)
			}
			all = append(all, s)
		}
		slices.SortFunc(all, func(a, b sample) int {
			if a.Seconds < b.Seconds {
				return -1
			}
			return 1
		})
		s := all[len(all)/2]
		for _, x := range all {
			s.RSS = max(s.RSS, x.RSS)
		}
		perEvent := "-"
		if s.Events > 0 {
			perEvent = fmt.Sprintf("%.0f", s.Seconds*1e9/float64(s.Events))
		}
		fmt.Printf("%-40s %8.3f %7.2f %7.0f %9s %9.1f %8.1f%%\n", label, s.Seconds, s.CPU, float64(total)/1e6/s.Seconds, perEvent,
			float64(s.RSS)/1e6, 100*float64(s.RSS)/float64(total))
		return s, nil
	}
	goRow := func(label, what, file string, procs int) (sample, error) {
		return row(label, func() (sample, error) {
			return spawn([]string{"GOMAXPROCS=" + strconv.Itoa(procs)}, self, "-child", what, "-trace", file)
		})
	}
	var ours, bare, ourGz sample
	for _, m := range []struct {
		label, what, file string
		procs             int
		keep              *sample
	}{
		{"plain, everything, 1 core", "all", plain, 1, nil},
		{"plain, everything, 2 cores", "all", plain, 2, &ours},
		{"plain, no Python frames, 2 cores", "python", plain, 2, nil},
		{"plain, GPU lanes and launches, 2 cores", "gpu", plain, 2, nil},
		{"plain, event by event (Reader), 1 core", "reader", plain, 1, nil},
		{"klauspost gunzip alone", "gunzip", gz, 2, &bare},
		{".gz, everything, 2 cores", "all", gz, 2, &ourGz},
		{".gz, GPU lanes and launches, 2 cores", "gpu", gz, 2, nil},
		{".zst, everything, 2 cores", "all", zs, 2, nil},
	} {
		s, err := goRow(m.label, m.what, m.file, m.procs)
		if err != nil {
			return err
		}
		if m.keep != nil {
			*m.keep = s
		}
	}
	fmt.Printf("\n.gz load / bare gunzip: %.2f\n", ourGz.Seconds/bare.Seconds)
	if !python {
		return nil
	}
	for _, f := range []struct {
		label, file string
		ours        sample
	}{{"plain", plain, ours}, {".gz", gz, ourGz}} {
		s, err := row("python3 json.load, "+f.label, func() (sample, error) { return spawn(nil, "python3", "-c", pythonLoad, f.file) })
		if err != nil {
			return err
		}
		fmt.Printf("%s: json.load takes %.1f × the time and %.1f × the memory\n", f.label, s.Seconds/f.ours.Seconds, float64(s.RSS)/float64(f.ours.RSS))
	}
	return nil
}

func writeFile(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	return errors.Join(write(w), w.Flush(), f.Close())
}

// unpack copies a plain or gzipped trace to dst.
func unpack(dst, src string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	var r io.Reader = in
	if strings.HasSuffix(src, ".gz") {
		if r, err = gzip.NewReader(bufio.NewReader(in)); err != nil {
			return err
		}
	}
	return writeFile(dst, func(w io.Writer) error {
		_, err := io.Copy(w, r)
		return err
	})
}

// compress writes src as gzip −6 and zstd −3.
func compress(src, gz, zs string) error {
	each := func(dst string, open func(io.Writer) (io.WriteCloser, error)) error {
		in, err := os.Open(src)
		if err != nil {
			return err
		}
		defer in.Close()
		return writeFile(dst, func(w io.Writer) error {
			z, err := open(w)
			if err != nil {
				return err
			}
			_, err = io.Copy(z, in)
			return errors.Join(err, z.Close())
		})
	}
	return errors.Join(
		each(gz, func(w io.Writer) (io.WriteCloser, error) { return gzip.NewWriterLevel(w, 6) }),
		each(zs, func(w io.Writer) (io.WriteCloser, error) {
			return zstd.NewWriter(w, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithEncoderConcurrency(1))
		}))
}
