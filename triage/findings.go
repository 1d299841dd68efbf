package triage

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/triage/internal/activity"
	"github.com/llmstrata/strata/triage/internal/chain"
)

// largestShare is the share of step time from which an operator is a finding. A tenth is what a kernel twice as fast
// makes visible: 5% of the step, above the 2 to 3% by which runs differ.
const largestShare = 0.1

// nameWidth is how many characters of a kernel's name are shown in a sentence.
const nameWidth = 80

// findings are those of one stage: exposed communication, fused paths that are not used, the largest operators.
func (a *analysis) findings(s *stageWork, r *StageReport) []finding.Finding {
	wall, _ := s.wall()
	n, basis := s.steady()
	size := func(m finding.Measure, ns int64) finding.Size {
		out := finding.SizeOf(m, basis, time.Duration(ns), n, time.Duration(wall)).OfGPUs(r.Devices)
		out.Mixed = r.Exposure.Mixed
		return out
	}
	stage := r.PassStage
	if stage == layer.StageUnknown {
		stage = "" // steps of every stage
	}
	var out []finding.Finding
	add := func(f finding.Finding) {
		f.Stage, f.Advice.Do = stage, cmp.Or(f.Advice.Do, f.Kind.Info().Advice.Do)
		out = append(out, f)
	}
	for i := range r.Exposure.Rows {
		row := &r.Exposure.Rows[i]
		if row.Category != classify.CategoryCommunication || row.ExposedNS == 0 {
			continue
		}
		transfer := row.ExposedNS - row.WaitingNS
		if row.WaitingNS > 0 {
			w := finding.Finding{Kind: finding.RankWait, Code: string(row.Category),
				Text: "Collectives that wait for other ranks", Size: size(finding.Recoverable, row.WaitingNS),
				Confidence: waitingWays[row.WaitingBy].sure, Evidence: waitingWays[row.WaitingBy].how}
			w.Place, w.Where = row.place()
			add(w)
		}
		if transfer == 0 {
			continue
		}
		f := finding.Finding{Kind: finding.ExposedCommunication, Code: string(row.Category),
			Text: "Communication that no compute overlaps",
			Size: size(finding.Recoverable, transfer), Confidence: finding.High}
		if row.BoundNS > 0 {
			f.Evidence = fmt.Sprintf("Compute in the same layers can overlap up to %s.", nanos(int64(float64(row.BoundNS)/n)))
		}
		f.Place, f.Where = row.place()
		f.Do = enable(r.Overlap)
		add(f)
	}
	for i := range r.Fuse {
		row := &r.Fuse[i]
		if row.Kind != Split || row.Gain.StepHighNS <= 0 || !row.State.Asks() {
			continue
		}
		f := finding.Finding{Kind: finding.Fusion, Code: row.Pattern, Text: "Unused fused path: " + row.Pattern,
			Size: size(finding.Recoverable, int64(float64(row.Gain.StepHighNS)*n)), Confidence: finding.Medium,
			Evidence: fmt.Sprintf("%s, %s, %s in all. %s.", table.Counted(len(row.Evidence), "kernel", "kernels"),
				table.Counted(row.Occurrences, "occurrence", "occurrences"), fromUS(row.RelatedUS), row.Gain.String()),
			Advice: finding.Advice{Do: row.Action}}
		f.PerStep = time.Duration(row.Gain.StepHighNS) // not rounded twice
		if row.Confidence == Confirmed {
			f.Confidence = finding.High
		}
		if p := row.First; p != nil {
			f.Place = p.place()
			f.Where = "first in " + p.String()
		}
		add(f)
	}
	for _, row := range r.Operators {
		f := finding.Finding{Kind: finding.LargestOperator, Code: row.Operator,
			Size: size(finding.Taken, row.GPUTimeNS),
			Text: "Operator " + row.Operator, Place: finding.Place{Operator: row.Operator},
			Confidence: band(row.Confidence)}
		// Its kernels run at the same time where they take more than the steps.
		if row.Operator == activity.NoOperator || f.Share < largestShare || f.Share > 1 {
			continue
		}
		if k := r.longest(row.Operator); k != nil {
			f.Place.Kernel = k.Label
			f.Where = fmt.Sprintf("%s, most time in %s", table.Counted(row.Launches, "launch", "launches"),
				table.Name(k.Label, nameWidth))
		}
		add(f)
	}
	return out
}

// steady is what times of a stage are shown for: one of so many steps, or the mean window of so many GPUs.
func (s *stageWork) steady() (n float64, basis finding.Basis) {
	if basis = s.exposure.Basis(); basis == finding.OfWindow {
		return float64(s.devices()), basis
	}
	return s.exposure.CompleteSteps, basis
}

// waitingWays describes each way to separate waiting from transfer, and its confidence.
var waitingWays = map[layer.WaitingBy]struct {
	how  string
	sure finding.Band
}{
	layer.WaitingByRanks: {"Measured against the arrival of the other ranks.", finding.High},
	layer.WaitingByFastest: {"Estimated: compared with the fastest quarter of the same collective in the same pass.",
		finding.Medium},
}

// longest is the row of the kernel that works longest for an operator.
func (s *StageReport) longest(operator string) (best *KernelRow) {
	var most int64
	for i := range s.Kernels {
		for _, o := range s.Kernels[i].Operators {
			if o.Operator == operator && o.GPUTimeNS > most {
				best, most = &s.Kernels[i], o.GPUTimeNS
			}
		}
	}
	return best
}

// band puts a confidence of 0…1 into words.
func band(confidence float64) finding.Band {
	switch {
	case confidence >= 0.9:
		return finding.High
	case confidence >= 0.6:
		return finding.Medium
	case confidence > 0:
		return finding.Low
	}
	return finding.BandUnknown
}

// enable advises the server's own ways to hide the exchanges, "" where none is known.
func enable(rows []OverlapRow) string {
	known := chain.Once(rows, func(r OverlapRow) []string { return r.Known })
	if len(known) == 0 {
		return ""
	}
	return "Enable " + strings.Join(known, " or ") + "."
}

// place is where a category runs alone for the longest time.
func (r *ExposureRow) place() (finding.Place, string) {
	w := r.Longest
	if w == nil {
		return finding.Place{}, ""
	}
	return w.place(), fmt.Sprintf("longest stretch: %s from %s s, beginning with %s", nanos(int64(w.EndNS-w.StartNS)),
		table.Seconds(time.Duration(w.StartNS), 6), table.Name(w.Kernel, nameWidth))
}

// place is p as findings have it.
func (p *Place) place() finding.Place {
	return finding.Place{Pass: p.Pass, Layer: p.Layer, Kernel: p.Kernel, Start: time.Duration(p.StartNS),
		End: time.Duration(p.EndNS)}
}

// String names pass and layer, or the time outside of passes.
func (p *Place) String() string {
	switch {
	case p.Pass == nil:
		return table.Seconds(time.Duration(p.StartNS), 6) + " s"
	case p.Layer == nil:
		return fmt.Sprintf("pass %d", *p.Pass)
	}
	return fmt.Sprintf("pass %d, layer %d", *p.Pass, *p.Layer)
}
