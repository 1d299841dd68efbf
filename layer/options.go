package layer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/profile"
)

// The modes of [Options.Boundaries].
const (
	// boundariesAuto takes the best evidence the trace has.
	boundariesAuto = "auto"
	// boundariesModules takes module frames only; it fails where the trace has none.
	boundariesModules = "modules"
	// boundariesRepeats ignores module frames and anchors and finds the repeating unit.
	boundariesRepeats = "repeats"
	// boundariesAnchorCloses makes a block of the kernels after anchor k−1 up to and including anchor k.
	boundariesAnchorCloses = "anchor-closes"
)

// allBoundaries lists the modes in the order of the documentation.
func allBoundaries() []string {
	return []string{boundariesAuto, boundariesModules, boundariesRepeats, boundariesAnchorCloses}
}

// parseBoundaries reads a mode's name; "" is auto.
func parseBoundaries(s string) (string, error) {
	if s == "" {
		return boundariesAuto, nil
	}
	if !slices.Contains(allBoundaries(), s) {
		return "", fmt.Errorf("layer: unknown boundaries %q; want one of %s", s, strings.Join(allBoundaries(), ", "))
	}
	return s, nil
}

// Options says what is known about the model and how to analyse. The zero Options asks the trace everything.
type Options struct {
	// Profile says how the model's layers look. Nil: inferred from Config, else generic.
	Profile *profile.ModelProfile
	// Config is the model's config.json. Nil: unknown.
	Config *profile.Config
	// NumLayers is N, up to 4096, where the caller knows better than Config. 0: Config's, else read from the trace.
	NumLayers int
	// Anchor replaces the profile's anchor: a substring of a kernel's name. "": the profile's.
	Anchor string
	// Boundaries is the evidence that places layer boundaries: "auto", or "", is the
	// best that the trace has; "modules" takes module frames only and fails where
	// there are none; "repeats" finds the repeating unit and ignores frames and
	// anchors; "anchor-closes" makes a block of the kernels after anchor k−1 up to
	// and including anchor k.
	Boundaries string
	// Rules are asked before the profile's own category rules.
	Rules []classify.Rule
	// Mapping is the analysis of a second trace of the same model, recorded eagerly or while its graph was captured,
	// from which [Kernel.Twin] carries modules, CPU ops, shapes and source lines to the kernels of graph replays.
	// Nil: the trace itself.
	Mapping *Analysis
	// ForceMapping uses Mapping also where it seems to be of another model or GPU; see [Device.MappingRefused].
	ForceMapping bool
}

// The errors of this package; those that are returned say what was found and wrap one of these.
var (
	// ErrNoKernels: the trace has no GPU activities to analyse.
	ErrNoKernels = errors.New("layer: no GPU kernels in the trace")
	// ErrNoEvidence: what the asked-for mode needs is not in the trace.
	ErrNoEvidence = ladder.ErrNoEvidence
	// ErrContradiction: config or flags say one thing, the trace another.
	ErrContradiction = ladder.ErrContradiction
	// ErrRange: a pass, layer or device that does not exist was asked for.
	ErrRange = errors.New("layer: out of range")
)

// rangeError says what was asked for and what there is; it is an [ErrRange].
type rangeError string

func (e rangeError) Error() string { return string(e) }

func (rangeError) Unwrap() error { return ErrRange }
