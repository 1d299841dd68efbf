package triage

import (
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// Sources returns where the GPU activities of a trace were launched from, by the rules of the kernel table: the
// source line of the frame that says most, framework code over model code over libraries. Only what the trace itself
// recorded is used: it must have been loaded with its launches, ops and Python frames for there to be any. The function
// remembers what it found and is for one goroutine.
//
// It returns "path:line func" with the path from its package's root, "" where no frame is known, and "graph replay"
// for a replayed activity, whose frames name the replay and not the kernel.
func Sources(a *layer.Analysis) func(trace.Event) string {
	finder := activity.NewSites(activity.NewPool(), a)
	return func(e trace.Event) string {
		if e.IsReplay() {
			return graphReplay
		}
		site, _, _ := finder.Of(e)
		if site == activity.SiteUnresolved {
			return ""
		}
		return finder.Pool.Sites.Texts[site]
	}
}
