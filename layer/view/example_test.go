package view_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/view"
	"github.com/llmstrata/strata/trace"
)

// demoGPU analyses the demo trace, which has one GPU.
func demoGPU(o layer.Options) *layer.Device {
	t, err := trace.Read(context.Background(), bytes.NewReader(demo.Trace()), trace.Options{})
	if err != nil {
		log.Fatal(err)
	}
	a, err := layer.Analyze(context.Background(), t, o)
	if err != nil {
		log.Fatal(err)
	}
	return &a.Devices[0]
}

func ExampleDiffOf() {
	a := demoGPU(layer.Options{})
	dense, err := view.NewDetail(a, a.Steady.Pass, 0)
	if err != nil {
		log.Fatal(err)
	}
	moe, err := view.NewDetail(a, a.Steady.Pass, 1)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range view.DiffOf(dense, moe).OnlyB[:2] {
		fmt.Printf("%d x %s\n", r.CountB, r.Name)
	}
	// Output:
	// 2 x fused_moe_kernel
	// 1 x nvjet_tst_64x8_64x16_1x4_h_bz_TNT
}

func ExampleTimeline_WriteText() {
	a := demoGPU(layer.Options{})
	t, err := view.NewTimeline(a, layer.None)
	if err != nil {
		log.Fatal(err)
	}
	t.KernelCategories, t.Passes, t.Evidence, t.Trace = nil, nil, nil, "demo"
	if err := t.WriteText(os.Stdout, view.TextOptions{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Trace: demo
	// Profile: generic, anchor: none, blocks/layer: 1, boundaries: auto
	// GPU: NVIDIA H100 80GB HBM3, device 0
	// Health: ok (805 GPU activities, 0 without a launch call)
	// GPU kernels: 790, anchor blocks: 0
	// Detected: 8 layers (from modules), 8 blocks/pass, 0 forward passes
	// Covered: 100.0 % of the GPU time in passes, 94.0 % in layers
	// Steady state: pass 1, first of 3 neighbouring decode passes of batch 8 whose durations stay within 10 % of their median
	//
	// Forward pass #1, per layer
	//
	// L  Type   Wall(ms)  SumDur(ms)    moe   gemm  attention  communication   norm  activation  AR#  K#
	// --------------------------------------------------------------------------------------------------
	// 0  FIRST     0.117       0.073  0.000  0.035      0.013          0.013  0.005       0.002    2  12
	// 1  LAYER     0.199       0.129  0.058  0.029      0.014          0.013  0.005       0.004    2  20
	// 2  LAYER     0.195       0.132  0.060  0.030      0.013          0.013  0.005       0.004    2  20
	// 3  LAYER     0.189       0.131  0.059  0.029      0.014          0.013  0.005       0.004    2  20
	// 4  LAYER     0.193       0.129  0.057  0.030      0.014          0.013  0.005       0.004    2  20
	// 5  LAYER     0.193       0.130  0.058  0.029      0.014          0.013  0.005       0.004    2  20
	// 6  LAYER     0.182       0.129  0.057  0.029      0.013          0.013  0.005       0.004    2  20
	// 7  FINAL     0.193       0.131  0.060  0.030      0.013          0.013  0.005       0.004    2  20
	//
	// By layer type
	//
	// Cluster  #  Avg Wall(ms)  Avg Sum(ms)   moe%  gemm%  attention%  communication%  norm%  activation%
	// ---------------------------------------------------------------------------------------------------
	// FIRST    1         0.117        0.073   0.0%  48.3%       18.3%           18.1%   6.9%         2.9%
	// LAYER    6         0.192        0.130  44.7%  22.5%       10.5%           10.2%   4.1%         3.4%
	// FINAL    1         0.193        0.131  45.4%  22.8%       10.0%            9.8%   4.1%         3.3%
	//
	// Summary: bottleneck: LAYER layers, 6 of 8, 79 % of the layers' wall time (0.192 ms each); likely next target: moe, 45 % of their kernel time; 32 % of a layer's wall time has no kernel running
}
