package triage

import (
	"github.com/llmstrata/strata/trace"
)

// Sources tells where a trace's GPU activities were launched from, by the rules
// of the kernel table: the source line of the frame that says most, framework
// code over model code over libraries. Only what the trace itself recorded is
// used. It remembers what it found and is for one goroutine.
type Sources struct {
	finder *siteFinder
}

// NewSources returns the sources of t, which must have been loaded with its
// launches, ops and Python frames for there to be any.
func NewSources(t *trace.Trace) *Sources {
	return &Sources{newSiteFinder(newPool(), t)}
}

// Location returns the source line that launched an activity, as "path:line
// func" with the path from its package's root. It is "" where no frame is known,
// and [GraphReplay] for a replayed activity, whose frames name the replay and
// not the kernel.
func (s *Sources) Location(activity trace.Event) string {
	if activity.IsReplay() {
		return GraphReplay
	}
	site, _, _ := s.finder.of(activity)
	if site == siteUnresolved {
		return ""
	}
	return s.finder.p.sites.texts[site]
}
