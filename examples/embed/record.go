package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
)

// schema names the layout of a Record; another layout gets another name.
const schema = "strata-embed/1"

// Record is what a benchmark keeps of one profiled run: some figures to plot
// and to compare, and enough words to judge how far they can be trusted.
type Record struct {
	Schema    string         `json:"schema"`
	Framework string         `json:"framework,omitempty"`
	Model     string         `json:"model,omitempty"`
	Traces    []TraceRecord  `json:"traces"`
	Kernels   []KernelRecord `json:"top_kernels"` // by stage, then time
}

// TraceRecord holds the figures of one trace file: a server may write one for
// each stage.
type TraceRecord struct {
	Name   string             `json:"name"`
	Rank   int                `json:"rank"` // −1 when unknown
	Health trace.HealthStatus `json:"health"`
	// Findings are the codes of what is wrong with the trace.
	Findings []string `json:"findings,omitempty"`

	NumLayers   int           `json:"num_layers"`
	LayerSource string        `json:"layer_source"` // what NumLayers was found by
	Passes      []PassGroup   `json:"passes"`
	LayerTypes  []LayerRecord `json:"layer_types"` // of the steady pass
	Host        *HostRecord   `json:"host,omitempty"`
}

// PassGroup sums up the complete passes of one stage and batch size.
type PassGroup struct {
	Stage layer.Stage `json:"stage"`
	Batch int         `json:"batch"` // −1 when unknown
	Count int         `json:"count"`
	// MedianUS and WorstUS are wall times of a pass in microseconds.
	MedianUS float64 `json:"median_us"`
	WorstUS  float64 `json:"worst_us"`
}

// LayerRecord is the mean of the layers of one type.
type LayerRecord struct {
	Type   string  `json:"type"`
	Count  int     `json:"count"`
	WallUS float64 `json:"avg_wall_us"`
	// SharePct is percent of the layers' kernel time by category.
	SharePct map[string]float64 `json:"share_pct"`
}

// KernelRecord is one of the kernels that take most time.
type KernelRecord struct {
	Stage    string  `json:"stage"`
	Kernel   string  `json:"kernel"`
	Category string  `json:"category"`
	SharePct float64 `json:"share_pct"` // of the stage's GPU time
	Launches int     `json:"launches"`
	Location string  `json:"location,omitempty"` // where most of it is launched from
}

// HostRecord says whether the host is the bottleneck.
type HostRecord struct {
	Bottleneck string   `json:"bottleneck"`
	Confidence string   `json:"confidence"`
	GPUIdle    *float64 `json:"gpu_idle_ratio"`   // of the steps; null where none were recorded
	Share      float64  `json:"host_share"`       // of the steps, caused by the host
	AtMost     float64  `json:"at_most"`          // times faster if the host cost nothing
	Doubts     []string `json:"doubts,omitempty"` // codes
}

// WriteJSON writes the record as an indented document.
func (r *Record) WriteJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false) // kernel names are full of < and >
	return enc.Encode(r)
}

// ReadRecord reads what WriteJSON wrote.
func ReadRecord(r io.Reader) (*Record, error) {
	var rec Record
	if err := json.NewDecoder(r).Decode(&rec); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if rec.Schema != schema {
		return nil, fmt.Errorf("record: schema %q, want %q", rec.Schema, schema)
	}
	return &rec, nil
}
