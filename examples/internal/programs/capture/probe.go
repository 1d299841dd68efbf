package capture

import (
	"context"
	"flag"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/live"
	"github.com/llmstrata/strata/internal/table"
)

func probeProgram() app.Program {
	var s live.Settings
	return app.Program{
		Name:     "capture probe",
		Summary:  "sends a few short requests to a server and reports latency and answers. The profiler is not touched.",
		Examples: []string{"capture probe --url http://127.0.0.1:8000 --probe-requests 10"},
		Common:   app.FormatFlag | app.OutputFlag | app.ProgressFlag,
		Formats:  []app.Format{app.JSON, app.Text},
		Flags: func(fs *flag.FlagSet) {
			s.ServerFlags(fs)
			s.OnlyProbeFlags(fs)
		},
		Run: func(ctx context.Context, env *app.Env) error {
			o, err := s.OptionsOfURL(env)
			if err != nil {
				return err
			}
			r, err := capture.Probe(ctx, o)
			if r == nil {
				return live.End(err)
			}
			for _, n := range r.Notes {
				env.Notef("note: %s", n)
			}
			if env.Document() {
				doc := ProbeDocument{Schema: "strata.capture-probe/1", ProbeReport: r}
				if err != nil {
					doc.Error = err.Error()
				}
				if werr := env.WriteJSON(doc); werr != nil {
					return werr
				}
				return live.End(err)
			}
			l := r.Latency
			b := table.NewWriter(env.Stdout)
			b.Heading(1, "%s at %s (%s)", r.Framework.Title(), r.Server, r.Info.Model)
			b.Say("%s: mean %.1f ms, p50 %.1f ms, p95 %.1f ms", table.Counted(l.Count, "answer", "answers"), l.MeanMs,
				l.P50Ms, l.P95Ms)
			for i, a := range r.Samples {
				b.Numbered(i+1, "%.1f ms %q", a.LatencyMs, a.Output)
			}
			if werr := b.Flush(); werr != nil {
				return werr
			}
			return live.End(err)
		},
	}
}
