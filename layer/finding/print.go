package finding

import (
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/table"
)

// Each is the time of a finding and what it is a mean over: "per decode step", "per step of T5", "in the window". Of
// steps of several models it is the sum, "in all steps".
func (f *Finding) Each() (time.Duration, string) {
	switch {
	case f.Of == OfGPU:
		return f.Total, ""
	case f.Mixed:
		return f.Total, "in all steps"
	}
	return f.PerStep, f.Of.EachOf(f.Stage) + OfModel(f.Model)
}

// OfModel says that a step is that of one of several models: " of T5", and " of the encoder" of one without a name.
func OfModel(model string) string {
	switch first, _ := utf8.DecodeRuneInString(model); {
	case model == "":
		return ""
	case unicode.IsLower(first):
		return " of the " + model
	}
	return " of " + model
}

// MeanOf says that figures are of several GPUs.
func MeanOf(gpus int) string {
	if gpus > 1 {
		return fmt.Sprintf(", mean of %d GPUs", gpus)
	}
	return ""
}

// Amount says how much a finding is about, "" for a finding without a size: "up to 1.26 ms per step (7.4% of step
// time)".
func (f *Finding) Amount() string {
	if f.Measure == NoMeasure {
		return ""
	}
	share := ""
	if f.Of != NoBasis && !math.IsNaN(f.Share) {
		of := f.Of.Title()
		if f.Model != "" || f.Mixed {
			of += " of all models"
		}
		share = fmt.Sprintf(" (%s %s)", table.Pct(100*f.Share, 1), of)
	}
	took, each := f.Each()
	if each != "" {
		each = " " + each + MeanOf(f.GPUs)
	}
	return f.Measure.Amount(took) + each + share
}

// Headline is the problem with its size.
func (f *Finding) Headline() string {
	if size := f.Amount(); size != "" {
		return f.Text + ": " + size
	}
	return f.Text
}

// Lines are what people read below the headline: evidence, place and fix, and what a replay of the steps predicts.
func (f *Finding) Lines() []string {
	var out []string
	line := func(name, text string) {
		if text != "" {
			out = append(out, name+": "+text)
		}
	}
	line("evidence", f.Evidence)
	line("where", f.Where)
	line("fix", f.Do)
	for i := range f.Gains {
		line("step", table.Clean(f.Gains[i].String()))
	}
	return out
}

// CodeOthers is that of element-wise operators above their floor, which fusing makes faster, too.
const CodeOthers = "others"

// Overlapping is a sentence on the findings of a list, numbered from 1, whose gains are partly of the same kernels:
// fused paths, and what they would fuse, which is small or above its floor, not both; "" where there are not two.
func Overlapping(list []Finding) string {
	var same []string
	fuses := false
	for i := range list {
		f := &list[i]
		fuses = fuses || f.Kind == Fusion
		if f.Kind == Fusion || f.Kind == SmallKernels || f.Kind == AboveFloor && f.Code == CodeOthers {
			same = append(same, strconv.Itoa(i+1))
		}
	}
	if len(same) < 2 || !fuses {
		return ""
	}
	return fmt.Sprintf("The gains of %s do not add up: they are partly of the same kernels.", table.Join(same, "and"))
}
