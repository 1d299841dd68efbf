package compare

import (
	"time"

	"github.com/llmstrata/strata/internal/vocabulary"
)

// HostConclusion is where the time of a host's steps is lost.
type HostConclusion string

// The conclusions, in the words of host-compare.
const (
	HostBetween HostConclusion = "inter-step host overhead"
	HostInStep  HostConclusion = "step execution"
	HostFaster  HostConclusion = "target is faster"
	// an operation clearly became slower, and the step did not, or the reverse
	HostMixed        HostConclusion = "mixed"
	HostSame         HostConclusion = "no significant difference"
	HostInconclusive HostConclusion = "inconclusive"
)

// UnmarshalText refuses words that are no conclusion.
func (c *HostConclusion) UnmarshalText(text []byte) error {
	return vocabulary.Set(c, "conclusion", text, HostBetween, HostInStep, HostFaster, HostMixed, HostSame,
		HostInconclusive)
}

// figure is one of the figures, an empty row where it was not measured.
func (r *HostReport) figure(name string) *HostRow {
	for i := range r.Figures {
		if r.Figures[i].Name == name {
			return &r.Figures[i]
		}
	}
	return &HostRow{}
}

// conclude says where the time went. A figure counts if its interval excludes 0 and it changed by more than least, or
// if an operation that large clearly did: between equal runs, steps differ by more than the time of many operations.
// An operation is never under a headline of the other sign.
func (r *HostReport) conclude(least time.Duration) HostConclusion {
	wall, step, gap := r.figure(FigureWall), r.figure(FigureStep), r.figure(FigureGap)
	if len(r.Figures) == 0 {
		return ""
	}
	if !wall.Judged {
		return HostInconclusive
	}
	clear := func(f *HostRow) bool { return f.Judged && f.sign() != 0 && abs(f.Delta) > least }
	up, down := r.clear(least)
	longer := HostInStep
	if gap.Delta > step.Delta {
		longer = HostBetween
	}
	largest := step // of the figures that are clear where the step's time is not
	if !clear(step) || clear(gap) && abs(gap.Delta) > abs(step.Delta) {
		largest = gap
	}
	switch {
	case !clear(wall) && !clear(step) && !clear(gap) && !up && !down:
		return HostSame
	case clear(wall) && wall.Delta > 0:
		return longer
	case clear(wall) && !up:
		return HostFaster
	case up && down || up && wall.Delta <= 0 || down && wall.Delta >= 0:
		return HostMixed
	case up, !down && largest.Delta > 0 && wall.Delta > 0:
		return longer
	case down, largest.Delta < 0 && wall.Delta < 0:
		return HostFaster
	}
	return HostMixed
}

// clear reports whether an operation or kernel clearly became slower, and faster, by more than so much a step.
func (r *HostReport) clear(least time.Duration) (up, down bool) {
	for i := range r.Rows {
		row := &r.Rows[i]
		if row.Kind == APIKind || !row.Significant || row.Status == Renamed {
			continue
		}
		up, down = up || row.Delta > least, down || row.Delta < -least
	}
	return up, down
}
