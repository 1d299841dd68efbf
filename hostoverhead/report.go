package hostoverhead

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/llmstrata/strata/internal/table"
)

// WriteText writes the verdict for people: the answer, the metrics with the
// thresholds that were used, the same for each phase, what it suggests, what
// speaks against it, and what to do next.
func (v *Verdict) WriteText(w io.Writer) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "HOST OVERHEAD VERDICT: %s (confidence %s)\n", v.Verdict, v.Confidence)
	for _, e := range v.Evidence {
		fmt.Fprintf(b, "  %s\n", e)
	}
	title := "Whole window"
	if v.DevicesMode == "each" && len(v.Devices) > 1 {
		title = fmt.Sprintf("Whole window of device %d, the most idle of %d", v.Device, len(v.Devices))
	}
	v.section(b, title, &v.AggregateMetrics, Judgement{v.AggregateVerdict, v.CrossedCount, v.ApplicableCount, v.HostPrepConfirmed, v.CrossedDetails, v.Thresholds})
	for _, phase := range []string{phaseContext, phaseGeneration} {
		if p := v.Phases[phase]; p != nil {
			v.section(b, fmt.Sprintf("Phase %s: %s, %s", phase, counted(p.IterationCount, "step"), p.graphWords()), &p.Metrics, p.Judgement)
		}
	}
	v.deviceTable(b)
	fmt.Fprintf(b, "\nInterpretation: %s\n", v.Interpretation())
	if v.NCCLCaveat {
		fmt.Fprintf(b, "NCCL caveat: kernels that exchange data between GPUs take %s of the busy time; part of the idle time may be waiting for other ranks.\n", percent(v.AggregateMetrics.NCCL))
	}
	if len(v.Doubts) > 0 {
		fmt.Fprintf(b, "\nReasons to doubt it:\n")
		for _, d := range v.Doubts {
			fmt.Fprintf(b, "  [%s] %s\n", d.Code, d.Message)
		}
	}
	fmt.Fprintf(b, "\nNext steps:\n")
	for _, s := range v.NextSteps() {
		fmt.Fprintf(b, "  - %s\n", s)
	}
	return b.Flush()
}

// section writes one table of metrics.
func (v *Verdict) section(b *bufio.Writer, title string, m *Metrics, j Judgement) {
	fmt.Fprintf(b, "\n%s: %s\n", title, j.Verdict)
	t := table.New(table.Text("metric"), table.Number("value"), table.Number("threshold"), table.Text("crossed"))
	for _, k := range judged {
		sign := ">"
		if k.below {
			sign = "<"
		}
		crossed := "n/a"
		if c, ok := j.CrossedDetails[k.key]; ok {
			crossed = map[bool]string{true: "yes", false: "no"}[c]
		}
		t.Row(k.title, k.value(m).String(), fmt.Sprintf("%s %.2f", sign, k.limit(&j.Thresholds)), crossed)
	}
	t.Row("M5  NCCL ratio", m.NCCL.String(), fmt.Sprintf("> %.2f", j.Thresholds.NCCL), "caveat only")
	if m.GraphLaunch.Applicable {
		t.Row("    graph launch ratio", m.GraphLaunch.String(), "", "not judged")
	}
	t.WriteText(b) // b keeps the first error
	fmt.Fprintf(b, "crossed: %d / %d applicable; host preparation %s\n", j.CrossedCount, j.ApplicableCount, prepWords(m, j))
}

// graphWords says how many of a phase's steps replay graphs.
func (p *PhaseVerdict) graphWords() string {
	switch {
	case !p.CUDAGraphsDetected:
		return "no CUDA graphs"
	case p.GraphSteps == 0 || p.GraphSteps == p.IterationCount:
		return "CUDA graphs"
	}
	return fmt.Sprintf("CUDA graphs in %d of them", p.GraphSteps)
}

func prepWords(m *Metrics, j Judgement) string {
	switch {
	case !m.PrepImpact.Applicable:
		return "not applicable"
	case j.HostPrepConfirmed:
		return "CONFIRMED as a cause"
	}
	return "not confirmed as the cause"
}

func (v *Verdict) deviceTable(b *bufio.Writer) {
	if len(v.Devices) < 2 {
		return
	}
	fmt.Fprintf(b, "\nDevices:\n")
	t := table.New(table.Text("device"), table.Text("GPU").Limit(30), table.Text("verdict"), table.Number("idle"), table.Number("launch"), table.Number("prep impact"), table.Number("NCCL"), table.Number("kernels"))
	row := func(name, gpu, verdict string, m *Metrics) {
		t.Row(name, gpu, verdict, m.GPUIdle.String(), m.LaunchOverhead.String(), m.PrepImpact.String(), m.NCCL.String(), table.Count(int64(m.Kernels)))
	}
	for i := range v.Devices {
		d := &v.Devices[i]
		verdict := string(d.Verdict)
		if d.Ignored {
			verdict = "too little work"
		}
		row(fmt.Sprint(d.Device), d.Name, verdict, &d.Metrics)
	}
	if v.MeanMetrics != nil {
		row("mean", "", "", v.MeanMetrics)
	}
	t.WriteText(b)
}

// Interpretation says in a sentence or two what the verdict suggests.
func (v *Verdict) Interpretation() string {
	words := v.suggestion()
	if v.Verdict == Yes && v.AggregateVerdict == No {
		words += " The window as a whole hides it."
	}
	return words
}

// suggestion is the interpretation of the verdict by phases and decisive doubts.
func (v *Verdict) suggestion() string {
	is := func(phase string) bool { p := v.Phases[phase]; return p != nil && p.Verdict == Yes }
	switch c, g := is(phaseContext), is(phaseGeneration); {
	case v.doubted("few-kernels"):
		return "too little GPU work was recorded to judge a server; the gap ledger still says where the idle time went."
	case v.Verdict == No:
		return "the GPU has work most of the time; faster host code would not make this run faster."
	case v.AggregateVerdict == Yes && v.doubted("idle-is-transfers"):
		return "the thresholds are crossed, but copies run during most of the idle time: data transfers limit this run, not host code."
	case v.AggregateVerdict == Yes && v.doubted("one-long-gap"):
		return "the thresholds are crossed because of one long pause; apart from it the GPU has work most of the time."
	case c && g && v.Phases[phaseGeneration].CUDAGraphsDetected:
		return "both context and generation steps wait for the host although generation uses CUDA graphs: host work between the steps dominates."
	case c && g:
		return "both context and generation steps wait for the host: CUDA graphs are probably disabled, or host work between the steps dominates."
	case g && !v.Phases[phaseGeneration].CUDAGraphsDetected:
		return "generation steps wait for the host and use no CUDA graphs: capture them, then look at the host work between the steps."
	case g && v.Phases[phaseGeneration].eagerSteps():
		return "generation steps wait for the host: most of them replay no CUDA graph; find out why (batch sizes that were not captured?)."
	case g:
		return "generation steps wait for the host although they replay CUDA graphs: replay is not effective, or host work between the steps dominates."
	case c:
		return "context steps wait for the host: eager preparation and launches are the suspects; generation is not affected."
	case len(v.Phases) > 0:
		return "the window as a whole waits for the host, its steps do not: look at what happens outside them (start-up, pauses between requests)."
	}
	return "the GPU waits for the host; the trace does not tell context from generation steps."
}

// doubted reports whether a doubt may turn the verdict.
func (v *Verdict) doubted(code string) bool {
	return slices.ContainsFunc(v.Doubts, func(d Doubt) bool { return d.Code == code && d.Weight == ConfidenceLow })
}

// NextSteps suggests what to do with the verdict.
func (v *Verdict) NextSteps() []string {
	var out []string
	if v.Verdict == Yes {
		out = append(out, "begin with the largest cause in the gap ledger, which says where the idle time goes")
		if v.HostPrepConfirmed {
			out = append(out, "host preparation is exposed: overlap it with the previous step, or make it cheaper")
		}
		if v.CrossedDetails["launch_overhead_ratio"] {
			out = append(out, "launch calls take much of the window: capture CUDA graphs, or fuse kernels")
		}
		out = append(out, "host-compare --baseline OLD --target NEW names the operation that became slower")
	} else {
		out = append(out, "look at the kernels instead: triage --input TRACE")
	}
	for _, d := range v.Doubts {
		switch d.Code {
		case "idle-is-transfers":
			out = append(out, "avoid the copies, or overlap them with kernels on another stream")
		case "graph-kernels-hidden", "graph-launches-without-kernels":
			out = append(out, "record again with nsys profile --cuda-graph-trace=node to see the kernels inside graph replays")
		case "no-host-prep", "no-steps":
			out = append(out, "record again with NVTX (nsys: -t cuda,nvtx; torch.profiler: annotations) to name host operations and steps")
		case "one-long-gap", "window-is-not-steady", "few-kernels":
			out = append(out, "record a window inside the steady run, after warm-up and under load")
		}
	}
	return unique(out)
}

func unique(in []string) []string {
	var out []string
	for _, s := range in {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// counted is a number and its noun: "1 step", "2 steps".
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
