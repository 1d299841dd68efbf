package perfetto

import (
	"cmp"
	"encoding/json"
	"fmt"
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

// Command is one action that the UI runs after a trace was loaded, such as
// dev.perfetto.PinTracksByRegex with one regular expression: the tracks whose
// names match it are pinned to the top of the timeline.
type Command struct {
	ID   string   `json:"id"`   // the command's id in the UI
	Args []string `json:"args"` // its arguments, in order
}

// Link describes a URL that opens the UI.
//
// Parameter names and units are those of the UI's documentation (Embedding API
// reference, "URL parameters"): raw nanoseconds, selection by ts and dur and
// never by id, since ids differ between loads.
type Link struct {
	Origin   string    // of the UI; UIOrigin when empty
	TraceURL string    // where the UI fetches the trace; empty: the user opens the file
	View     Range     // visible span; none when empty
	Select   *Range    // start and end of the slice to select; nil: none
	Commands []Command // run after loading
	Query    string    // SQL to run after loading
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

// String returns the URL. The UI reads its parameters from the fragment, so
// nothing of it reaches a server.
func (l Link) String() string {
	origin := cmp.Or(l.Origin, UIOrigin)
	q := url.Values{}
	if l.TraceURL != "" {
		q.Set("url", l.TraceURL)
	}
	if l.View.EndNS > l.View.StartNS {
		q.Set("visStart", strconv.FormatInt(l.View.StartNS, 10))
		q.Set("visEnd", strconv.FormatInt(l.View.EndNS, 10))
	}
	if l.Select != nil {
		q.Set("ts", strconv.FormatInt(l.Select.StartNS, 10))
		q.Set("dur", strconv.FormatInt(l.Select.EndNS-l.Select.StartNS, 10))
	}
	if l.Query != "" {
		q.Set("query", l.Query)
	}
	if len(l.Commands) > 0 {
		// Commands hold only strings: this cannot fail.
		js, err := json.Marshal(l.Commands)
		if err != nil {
			panic(fmt.Sprintf("perfetto: marshalling commands: %v", err))
		}
		q.Set("startupCommands", string(js))
	}
	return origin + "/#!/?" + q.Encode()
}
