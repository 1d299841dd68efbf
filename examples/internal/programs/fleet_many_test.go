package programs

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/gen/ranks"
	"github.com/llmstrata/strata/trace"
)

// zipped is data as one member of a gzip file.
func zipped(b *testing.B, data []byte) []byte {
	b.Helper()
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err == nil {
		_, err = w.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		b.Fatal(err)
	}
	return out.Bytes()
}

// recordings writes n recordings of eight ranks, rank 5 late, each in a folder of its own, as .gz. They share their
// events and differ in when they began. It returns the folder, the files of the first and the bytes of a rank.
func recordings(b *testing.B, n int, c ranks.Config) (dir string, first []string, size int) {
	b.Helper()
	dir = b.TempDir()
	const base = `"baseTimeNanoseconds": 17750785`
	_, err := c.Write(func(f ranks.File) error {
		header, events, found := bytes.Cut(f.Data, []byte(`"traceEvents": [`))
		if !found || !bytes.Contains(header, []byte(base)) {
			return fmt.Errorf("%s: the generator's header has changed", f.Name)
		}
		size = len(f.Data)
		body := zipped(b, append([]byte(`"traceEvents": [`), events...))
		for i := range n {
			folder := filepath.Join(dir, fmt.Sprintf("recording-%03d", i))
			if err := os.MkdirAll(folder, 0o777); err != nil {
				return err
			}
			began := strings.Replace(string(header), base, fmt.Sprintf(`"baseTimeNanoseconds": 1775%04d`, 785+i), 1)
			path := filepath.Join(folder, f.Name+".gz")
			if err := os.WriteFile(path, append(zipped(b, []byte(began)), body...), 0o666); err != nil {
				return err
			}
			if i == 0 {
				first = append(first, path)
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return dir, first, size
}

// BenchmarkManyRanks compares strata fleet over many recordings with its ranks read one by one on one processor each:
// "ratio" is the time of the fleet over the time of single ranks divided by the processors, once for what "strata
// digest" does with a rank and once for loading it alone. With STRATA_LONG there are 1,000 ranks of 48 MB.
func BenchmarkManyRanks(b *testing.B) {
	n, c := 2, ranks.Config{Seed: 11, Steps: 4, Layers: 12}
	if os.Getenv("STRATA_LONG") != "" {
		n, c.Steps, c.Layers = 125, 400, 76
	}
	c.Replicas = []ranks.Replica{{Numbered: true, Late: 5, Cause: ranks.HostGap, LateBy: 30_000}}
	dir, first, size := recordings(b, n, c)
	timed := func(f func()) time.Duration {
		debug.FreeOSMemory()
		from := time.Now()
		f()
		return time.Since(from)
	}
	for b.Loop() {
		cores := runtime.GOMAXPROCS(1)
		single := func() (read, loaded time.Duration) {
			for _, path := range first {
				read += timed(func() {
					apptest.MustRun(b, Digest(), path, "--output", filepath.Join(b.TempDir(), "rank.ndjson"))
				})
				loaded += timed(func() {
					if _, err := trace.Open(b.Context(), path, trace.Options{}); err != nil {
						b.Fatal(err)
					}
				})
			}
			return read, loaded
		}
		read, loaded := single()
		runtime.GOMAXPROCS(cores)
		out := filepath.Join(b.TempDir(), "fleet.json")
		fleet := timed(func() {
			all, _ := ChooseFleet(nil)
			apptest.MustRun(b, all, dir, "--recordings", "all", "--format", "json", "--output", out)
		})
		runtime.GOMAXPROCS(1)
		after, loadedAfter := single()
		runtime.GOMAXPROCS(cores)
		all := time.Duration(n*len(first)) * (read + after) / time.Duration(2*len(first)*cores)
		loads := time.Duration(n*len(first)) * (loaded + loadedAfter) / time.Duration(2*len(first)*cores)
		b.ReportMetric(float64(fleet)/float64(all), "ratio-digests")
		b.ReportMetric(float64(fleet)/float64(loads), "ratio-loads")
		b.ReportMetric(float64(n*len(first)), "ranks")
		b.ReportMetric(float64(size)/1e6, "MB/rank")
		b.ReportMetric(fleet.Seconds(), "s")
	}
}
