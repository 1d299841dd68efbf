package perfetto

import (
	"net/url"
	"strconv"

	"github.com/llmstrata/strata/trace"
)

// UIOrigin is the origin of the public Perfetto UI.
const UIOrigin = "https://ui.perfetto.dev"

// Range is a span of a trace in both of the UI's time bases.
type Range struct {
	Start trace.Time `json:"-"` // since the trace's first event
	End   trace.Time `json:"-"` // since the trace's first event

	StartSeconds float64 `json:"start_s"`  // as the UI's time axis shows it
	EndSeconds   float64 `json:"end_s"`    // as the UI's time axis shows it
	StartNS      int64   `json:"start_ns"` // as the UI's SQL tables have it
	EndNS        int64   `json:"end_ns"`   // as the UI's SQL tables have it
}

// NewRange returns the span from start to end of t.
func NewRange(t *trace.Trace, start, end trace.Time) Range {
	return Range{
		Start: start, End: end,
		StartSeconds: float64(start) / 1e9, EndSeconds: float64(end) / 1e9,
		StartNS: t.Raw(start), EndNS: t.Raw(end),
	}
}

// marginShare is how much of a range is left free on each side, so that what
// comes before and after it is visible.
const marginShare = 0.05

// Margin returns r widened by a twentieth on each side, not beyond the
// trace's first event.
func Margin(t *trace.Trace, r Range) Range {
	m := trace.Time(float64(r.End-r.Start) * marginShare)
	return NewRange(t, max(r.Start-m, 0), r.End+m)
}

// Link returns a URL that opens the UI with the trace at traceURL, or where that is empty with the one that the user
// opens, and shows the range; empty: all of it. The UI reads its parameters from the fragment, so nothing of it reaches
// a server. Names and units are those of the UI's documentation (Embedding API reference, "URL parameters"): raw
// nanoseconds.
func Link(traceURL string, view Range) string {
	q := url.Values{}
	if traceURL != "" {
		q.Set("url", traceURL)
	}
	if view.EndNS > view.StartNS {
		q.Set("visStart", strconv.FormatInt(view.StartNS, 10))
		q.Set("visEnd", strconv.FormatInt(view.EndNS, 10))
	}
	return UIOrigin + "/#!/?" + q.Encode()
}
