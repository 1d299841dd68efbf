package nsys_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
	"github.com/llmstrata/strata/trace/nsys"
)

// ExampleFormats loads an export and follows a kernel to the call that launched
// it.
func ExampleFormats() {
	dir, err := os.MkdirTemp("", "nsys")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.sqlite")
	if _, err := nsysgen.Write(path, nsysgen.Default(1)); err != nil {
		log.Fatal(err)
	}

	t, err := trace.Open(context.Background(), path, trace.Options{Formats: nsys.Formats()})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Len(event.LaneGPU), "activities on", len(t.Devices()), "GPUs, health", t.Health().Status)
	k := t.LaneAt(event.LaneGPU, 0)
	fmt.Printf("%.15s launched by %s on thread %q\n", k.Name(), k.Launch().Name(), t.Thread(k.Launch().Thread()).Name)
	// Output:
	// 6720 activities on 2 GPUs, health ok
	// void rms_norm_k launched by cudaLaunchKernel on thread "executor-0"
}

// ExampleFormats_refused says what is wrong with a file.
func ExampleFormats_refused() {
	dir, err := os.MkdirTemp("", "nsys")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "notes.sqlite")
	if err := os.WriteFile(path, []byte("not a database at all"), 0o600); err != nil {
		log.Fatal(err)
	}

	_, err = trace.Open(context.Background(), path, trace.Options{Formats: nsys.Formats()})
	fmt.Println(errors.Is(err, trace.ErrFormat))
	// Output: true
}

func ExampleFormats_lanes() {
	dir, err := os.MkdirTemp("", "nsys")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "run.sqlite")
	if _, err := nsysgen.Write(path, nsysgen.Default(1)); err != nil {
		log.Fatal(err)
	}

	t, err := trace.Open(context.Background(), path,
		trace.Options{Formats: nsys.Formats(), Lanes: []event.Lane{event.LaneGPU}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(t.Len(event.LaneGPU), t.Len(event.LaneLaunch))
	// Output: 6720 0
}
