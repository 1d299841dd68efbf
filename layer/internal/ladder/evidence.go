package ladder

// Rung is what passes or layers rest on.
type Rung string

// The rungs of the ladder.
const (
	RungAnnotation Rung = "annotation" // step annotations
	RungModule     Rung = "module"     // module frames
	RungAnchor     Rung = "anchor"     // the profile's anchor kernel
	RungGraph      Rung = "graph"      // passes that graph launches ran
	RungStructure  Rung = "structure"  // kernels that recur
	RungWhole      Rung = "whole"      // nothing: everything is one pass
	RungRepeat     Rung = "repeat"     // layers that repeat
	RungNone       Rung = "none"       // there are no layers
)

// Source says where a number of layers comes from.
type Source string

// The sources, "" for none.
const (
	FromFlag    Source = "flag"
	FromConfig  Source = "config"
	FromModules Source = "modules"
	FromAnchors Source = "anchors"
	FromRepeats Source = "repeats"
	FromGiven   Source = "given"   // whoever gave the passes
	FromPeriod  Source = "period"  // the published rule: what repeats
	FromDefault Source = "default" // the published rule: nothing repeats
)
