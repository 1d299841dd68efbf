package triage_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/triage"
)

func TestBundle(t *testing.T) {
	dir := tree(t,
		"m1/vllm.md=# Triage View\n\nFramework: vLLM\nModel: Qwen3\n\n## Kernel Table\n\n| a |\n| - |\n",
		"m1/sglang.md=# Triage View\n\nFramework: SGLang\nModel: Qwen3\nStep (decode): 10.4 ms, 327 µs/token, top operator o_proj 24.7%, exposed communication 1.00 ms (9.6%)\n\n## Kernel Table\n",
		"m1/trtllm.md=# Triage View\n\nFramework: TensorRT-LLM\nStep (decode): top operator o_proj 20.0%\n",
		"llama/a.md=# Triage View\n\nFramework: SGLang\n",
		"notes.md=# Notes\n",
	)
	b := triage.Bundle{Title: "All", Entries: []triage.BundleEntry{{Path: dir}}, TOC: true,
		Time: time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)}
	var buf bytes.Buffer
	if err := b.WriteMarkdown(&buf); err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(buf.String(), dir+string(filepath.Separator), "")
	want := "# All\n\nGenerated: 2026-07-01 12:00:00 UTC\n" +
		"\n## Contents\n\n" +
		"- [llama](#llama)\n  - [SGLang](#sglang)\n- [Qwen3](#qwen3)\n  - [SGLang](#sglang-1)\n  - [vLLM](#vllm)\n  - [TensorRT-LLM](#tensorrt-llm)\n" +
		"\n## llama\n\n### SGLang\n\nSource: `llama/a.md`\n\n#### Triage View\n\nFramework: SGLang\n" +
		"\n## Qwen3\n\n### SGLang\n\nSource: `m1/sglang.md`\n\n#### Triage View\n\nFramework: SGLang\nModel: Qwen3\nStep (decode): 10.4 ms, 327 µs/token, top operator o_proj 24.7%, exposed communication 1.00 ms (9.6%)\n\n##### Kernel Table\n" +
		"\n### vLLM\n\nSource: `m1/vllm.md`\n\n#### Triage View\n\nFramework: vLLM\nModel: Qwen3\n\n##### Kernel Table\n\n| a |\n| - |\n" +
		"\n### TensorRT-LLM\n\nSource: `m1/trtllm.md`\n\n#### Triage View\n\nFramework: TensorRT-LLM\nStep (decode): top operator o_proj 20.0%\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("bundle (-want +got):\n%s", diff)
	}
}

func TestBundleListsAllMissingReports(t *testing.T) {
	var out bytes.Buffer
	b := triage.Bundle{Title: "x", Entries: []triage.BundleEntry{{Label: "a", Path: "/absent/a.md"},
		{Path: "/absent/b.md"}}}
	err := b.WriteMarkdown(&out)
	if err == nil || !strings.Contains(err.Error(), "reports not found") ||
		!strings.Contains(err.Error(), "/absent/a.md") || !strings.Contains(err.Error(), "/absent/b.md") {
		t.Errorf("WriteMarkdown = %v, want reports not found with both paths", err)
	}
	b.Entries = []triage.BundleEntry{{Path: tree(t, "notes.md=# Notes\n")}}
	if err := b.WriteMarkdown(&out); err == nil || !strings.Contains(err.Error(), "triage report") ||
		!strings.Contains(err.Error(), b.Entries[0].Path) {
		t.Errorf("a directory without reports: %v", err)
	}
	if out.Len() > 0 {
		t.Errorf("without reports %q was written", out.String())
	}
}
