package triage

import (
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// Sources tells where a trace's GPU activities were launched from, by the rules
// of the kernel table: the source line of the frame that says most, framework
// code over model code over libraries. Only what the trace itself recorded is
// used. It remembers what it found and is for one goroutine.
type Sources struct {
	finder *activity.Sites
}

// NewSources returns the sources of t, which must have been loaded with its
// launches, ops and Python frames for there to be any.
func NewSources(t *trace.Trace) *Sources {
	return &Sources{activity.NewSites(activity.NewPool(), t)}
}

// Location returns the source line that launched an activity, as "path:line
// func" with the path from its package's root. It is "" where no frame is known,
// and "graph replay" for a replayed activity, whose frames name the replay and
// not the kernel.
func (s *Sources) Location(e trace.Event) string {
	if e.IsReplay() {
		return graphReplay
	}
	site, _, _ := s.finder.Of(e)
	if site == activity.SiteUnresolved {
		return ""
	}
	return s.finder.Pool.Sites.Texts[site]
}
