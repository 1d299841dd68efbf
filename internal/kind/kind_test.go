package kind_test

import (
	"testing"

	"github.com/llmstrata/strata/internal/kind"
)

func TestKindsOfCategories(t *testing.T) {
	for _, c := range []struct {
		cat, name string
		want      uint8
	}{
		{"kernel", "x", kind.Kernel}, {"gpu_memcpy", "", kind.Memcpy}, {"python_function", "f", kind.Frame},
		{"python_function", "nn.Module: A", kind.Module}, {"python_function", "nn.Module: ", kind.Frame},
		{"cpu_op", "nn.Module: A", kind.Op}, {"yet to come", "x", kind.Other}, {"", "", kind.Other},
	} {
		if got := kind.Of(c.cat, c.name); got != c.want {
			t.Errorf("%s %q: %s, want %s", c.cat, c.name, kind.Name(got), kind.Name(c.want))
		}
		if got := kind.OfName(kind.OfCategory(c.cat), []byte(c.name)); got != c.want {
			t.Errorf("%s %q by bytes: %s, want %s", c.cat, c.name, kind.Name(got), kind.Name(c.want))
		}
	}
	for k, want := range map[uint8]string{kind.Kernel: "kernel", kind.Sample: "sample", kind.Kinds: "invalid",
		255: "invalid"} {
		if got := kind.Name(k); got != want {
			t.Errorf("kind %d is %s, want %s", k, got, want)
		}
	}
	for k, want := range map[uint8]uint8{kind.Kernel: kind.GPULane, kind.Runtime: kind.LaunchLane,
		kind.Module: kind.PythonLane, kind.Range: kind.AnnotationLane, kind.OSCall: kind.SyncLane,
		kind.Counter: kind.CounterLane, kind.Kinds: kind.NoLane} {
		if got := kind.Lane(k); got != want {
			t.Errorf("kind %s is in lane %d, want %d", kind.Name(k), got, want)
		}
	}
	if kind.Category(kind.Memset) != "gpu_memset" {
		t.Error("categories")
	}
}

func TestLaunches(t *testing.T) {
	for name, want := range map[string][2]bool{"cudaLaunchKernel": {true, false}, "cuLaunchKernelEx": {true, false},
		"cudaGraphLaunch": {false, true}, "cudaMemcpyAsync": {}, "hipLaunch": {}, "KernelOf": {}} {
		if got := [2]bool{kind.IsKernelLaunch(name), kind.IsGraphLaunch(name)}; got != want {
			t.Errorf("%s launches a kernel, a graph: %v, want %v", name, got, want)
		}
	}
}
