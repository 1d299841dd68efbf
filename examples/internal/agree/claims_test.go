package agree

import (
	"fmt"
	"math"
	"sort"
	"strings"
)

// Kinds of disagreement, the keys of the budget.
const (
	kindAccepted   = "accepted"       // some programs read the trace, others refuse it
	kindDevices    = "devices"        // which devices there are
	kindShown      = "shown device"   // which of several is taken when none is asked for
	kindKernels    = "kernels"        // how many a device ran
	kindTime       = "gpu time"       // of a device
	kindBusy       = "busy time"      // union of a device's kernels
	kindComm       = "communication"  // time in communication kernels
	kindCategories = "category time"  // time by category
	kindPasses     = "passes"         // how many
	kindStages     = "stages"         // the stages of passes
	kindLayers     = "layers"         // of a whole pass
	kindTP         = "tensor size"    // tensor-parallel size
	kindFramework  = "framework"      // which server
	kindAllReduces = "all-reduces"    // in the layers of a pass
	kindIdle       = "idle by stage"  // share of a stage's time in which nothing ran
	kindPlaces     = "kernel's place" // pass and layer of each kernel
)

// Who says something besides the programs.
const (
	byOracle = "raw events"
	byTruth  = "truth"
)

// stageWords is the one table of stage words: what programs call a stage, and
// what it is called here.
var stageWords = map[string]string{
	"extend": "prefill", "context": "prefill", "prefill": "prefill",
	"decode": "decode", "generation": "decode", "mixed": "mixed",
	"all": "unknown", "unknown": "unknown", "verify": "verify", "draft": "draft", "idle": "idle", "capture": "capture",
}

// claim is what somebody says about a subject.
type claim struct {
	who  string
	text string  // compared as it is where both are text
	num  float64 // else compared with a tolerance
}

// subject is one thing that several may name; the first claim is what the others
// are held against.
type subject struct {
	kind, about string
	claims      []claim
	tolerance   float64
}

// ledger collects the subjects of one trace.
type ledger struct{ subjects []*subject }

// about returns the subject of that kind and name, made where it is new.
func (l *ledger) about(kind, name string) *subject {
	for _, s := range l.subjects {
		if s.kind == kind && s.about == name {
			return s
		}
	}
	s := &subject{kind: kind, about: name}
	l.subjects = append(l.subjects, s)
	return s
}

func (s *subject) say(who, text string)    { s.claims = append(s.claims, claim{who: who, text: text}) }
func (s *subject) count(who string, n int) { s.say(who, fmt.Sprint(n)) }
func (s *subject) measure(who string, f, tolerance float64) {
	s.tolerance = max(s.tolerance, tolerance)
	s.claims = append(s.claims, claim{who: who, num: f})
}

// disagreement is a claim that differs from the one it is held against.
type disagreement struct{ kind, text string }

// disagreements lists who differs from the first to speak of each subject.
func (l *ledger) disagreements() []disagreement {
	var out []disagreement
	for _, s := range l.subjects {
		for i, c := range s.claims {
			first := s.claims[0]
			if i == 0 || c.text == first.text && math.Abs(c.num-first.num) <= s.tolerance {
				continue
			}
			out = append(out, disagreement{s.kind, fmt.Sprintf("%s: %s says %s, %s %s", s.name(), first.who,
				first.value(), c.who, c.value())})
		}
	}
	return out
}

func (s *subject) name() string { return strings.TrimSpace(s.kind + " " + s.about) }

func (c claim) value() string {
	if c.text != "" {
		return c.text
	}
	return fmt.Sprintf("%.6g", c.num)
}

// timeTolerance is how far two sums of times in ns may lie apart: documents round
// to a ns or to 0.001 µs each.
func timeTolerance(ns float64) float64 { return 1000 + ns*1e-6 }

// ratioTolerance is the last digit of a ratio with four decimals, twice.
const ratioTolerance = 0.0002

// stageSet writes the stages of passes as a sorted set in one vocabulary.
// "unknown" beside others stays: it says that some passes have no name.
func stageSet(words []string) string {
	set := map[string]bool{}
	for _, w := range words {
		name, ok := stageWords[w]
		if !ok {
			name = "?" + w
		}
		set[name] = true
	}
	if len(set) == 0 {
		set["unknown"] = true
	}
	list := make([]string, 0, len(set))
	for w := range set {
		list = append(list, w)
	}
	sort.Strings(list)
	return strings.Join(list, "+")
}
