package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"syscall"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/layer"
)

func peak(what string, t time.Time) {
	var ru syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	fmt.Printf("%-10s peak %d MiB heap %d MiB alloc %d MiB user %.2f s\n", what, ru.Maxrss/1024, m.HeapAlloc>>20, m.TotalAlloc>>20, float64(ru.Utime.Sec)+float64(ru.Utime.Usec)/1e6)
}

func main() {
	ctx := context.Background()
	rec, err := strata.Open(ctx, os.Args[1], strata.Options{})
	if err != nil {
		panic(err)
	}
	peak("load", time.Now())
	if len(os.Args) > 2 {
		f, _ := os.Create(os.Args[2])
		pprof.StartCPUProfile(f)
		defer pprof.StopCPUProfile()
	}
	a, err := layer.Analyze(ctx, rec.Parts[0].Trace, layer.Options{})
	if err != nil {
		panic(err)
	}
	peak("layer", time.Now())
	v, err := hostoverhead.Analyze(ctx, []*layer.Analysis{a}, hostoverhead.Options{})
	if err != nil {
		panic(err)
	}
	peak("host", time.Now())
	if len(os.Args) > 3 {
		f, _ := os.Create(os.Args[3])
		pprof.Lookup("allocs").WriteTo(f, 0)
		f.Close()
	}
	fmt.Println(v.Verdict)
}
