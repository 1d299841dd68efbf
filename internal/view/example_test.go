package view_test

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/view"
	"github.com/llmstrata/strata/layer"
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
	t, err := view.NewTimeline(a, trace.None)
	if err != nil {
		log.Fatal(err)
	}
	t.KernelCategories, t.Passes, t.Evidence, t.Trace = nil, nil, nil, "demo"
	if err := t.WriteText(os.Stdout, view.TextOptions{}); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Layers of demo
	// GPU: NVIDIA H100 80GB HBM3
	// Device: 0
	// Health: ok (805 GPU activities, 0 without a launch call)
	// GPU activities: 805, of them 790 kernels
	// Profile: generic, boundaries: auto
	// Found: 8 layers (from modules), 8 blocks per pass, 0 passes
	// Covered GPU time: 100.0% in passes, 94.0% in layers
	// Steady state: pass 2, the median of 3 neighbouring decode passes of batch 8 whose durations stay within 10% of it
	//
	// Forward pass #2, per layer
	// L  Type   Wall(ms)  SumDur(ms)    moe   gemm  attention  communication   norm  activation  AR#  K#
	// --------------------------------------------------------------------------------------------------
	// 0  FIRST     0.116       0.073  0.000  0.035      0.014          0.013  0.005       0.002    2  12
	// 1  LAYER     0.196       0.131  0.058  0.029      0.014          0.013  0.005       0.004    2  20
	// 2  LAYER     0.197       0.130  0.058  0.030      0.013          0.013  0.005       0.004    2  20
	// 3  LAYER     0.182       0.129  0.058  0.030      0.014          0.013  0.005       0.004    2  20
	// 4  LAYER     0.201       0.131  0.060  0.029      0.013          0.013  0.005       0.004    2  20
	// 5  LAYER     0.189       0.131  0.059  0.030      0.013          0.013  0.005       0.004    2  20
	// 6  LAYER     0.193       0.130  0.059  0.029      0.013          0.013  0.005       0.004    2  20
	// 7  FINAL     0.190       0.130  0.058  0.029      0.013          0.014  0.005       0.004    2  20
	//
	// By layer type
	// Cluster  #  Avg Wall(ms)  Avg Sum(ms)   moe%  gemm%  attention%  communication%  norm%  activation%
	// ---------------------------------------------------------------------------------------------------
	// FIRST    1         0.116        0.073   0.0%  47.9%       18.6%           18.3%   6.6%         3.0%
	// LAYER    6         0.193        0.130  44.9%  22.7%       10.3%           10.1%   4.1%         3.3%
	// FINAL    1         0.190        0.130  44.9%  22.5%       10.3%           10.4%   4.1%         3.4%
	//
	// GPU time by operator, forward pass #2
	// Operator                 Time(ms)  Share  Launches  FIRST µs/layer  LAYER µs/layer  FINAL µs/layer
	// --------------------------------------------------------------------------------------------------
	// prepare                     0.001   0.1%         1               -               -               -
	// embed                       0.009   0.9%         2               -               -               -
	// residual_add                0.013   1.2%         7               -            1.86            1.86
	// input_norm                  0.002   0.2%         1            2.21               -               -
	// residual_add+input_norm     0.019   1.8%         7               -            2.68            2.62
	// qkv_proj                    0.058   5.5%         8            7.14            7.34            7.33
	// rope                        0.018   1.7%         8            2.24            2.21            2.11
	// kv_write                    0.015   1.4%         8            1.86            1.87            1.86
	// attention                   0.108  10.2%         8           13.54           13.49           13.34
	// o_proj                      0.049   4.7%         8            6.05            6.21            6.08
	// attn_all_reduce             0.053   5.0%         8            6.66            6.65            6.69
	// residual_add+post_norm      0.021   2.0%         8            2.59            2.67            2.69
	// gate_up_proj                0.013   1.3%         1           13.31               -               -
	// activation                  0.002   0.2%         1            2.21               -               -
	// down_proj                   0.008   0.8%         1            8.42               -               -
	// router                      0.025   2.4%         7               -            3.61            3.52
	// routing                     0.044   4.2%        14               -            6.32            6.30
	// experts_gate_up             0.223  21.0%         7               -           31.82           31.78
	// experts_activation          0.015   1.4%         7               -            2.17            2.24
	// experts_down                0.125  11.8%         7               -           17.92           17.76
	// experts_combine             0.017   1.7%         7               -            2.49            2.56
	// shared_gate_up              0.050   4.7%         7               -            7.15            7.04
	// shared_activation           0.015   1.4%         7               -            2.17            2.24
	// shared_down                 0.037   3.5%         7               -            5.25            5.31
	// mlp_all_reduce              0.053   5.0%         8            6.69            6.56            6.85
	// residual_add+final_norm     0.003   0.3%         1               -               -               -
	// lm_head                     0.044   4.2%         1               -               -               -
	// sampling                    0.015   1.4%         4               -               -               -
	//
	// Summary
	// 6 of 8 layers are of type LAYER and take 79% of layer time, 0.193 ms each, led by moe (45% of their kernel time). No kernel runs in 32% of a layer's wall time.
}
