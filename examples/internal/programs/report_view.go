package programs

import (
	"context"
	"flag"
	"net/http"
	"strconv"
	"time"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/serve"
)

// ReportView returns the program that shows the report's page, with fresh flags.
func ReportView() app.Program {
	var o reportOptions
	var served bool
	return app.Program{
		Name:     "view",
		Summary:  "opens the report as a page in a browser.",
		Args:     "[FILE|DIR...]",
		Examples: []string{"view x.json.gz", "view runs/qwen"},
		Common:   app.TraceFlag | app.ModelFlags | app.DeviceFlag | app.ProgressFlag | app.MemoryFlag,
		Flags: func(fs *flag.FlagSet) {
			fs.BoolVar(&served, "serve", false, "serve the page, with all kernels, until Ctrl-C")
			o.input(fs)
		},
		Run: func(ctx context.Context, env *app.Env) error {
			r, err := o.analyzed(ctx, env, nil)
			if err != nil {
				return err
			}
			if served {
				return serve.Pages(ctx, viewHandler(r), func(url string) {
					if !env.Browse(app.FindBrowser(), url) {
						env.Notef("open %s in a browser on this computer", url)
					}
					env.Notef("Ctrl-C ends the server")
				})
			}
			p := app.OpenPage()
			return env.WriteHTML(&p, r.WriteHTML)
		},
	}
}

// viewHandler answers with the page, and with kernels that it only summarises.
func viewHandler(r *strata.Report) http.Handler {
	mux := http.NewServeMux()
	answer := func(kind string, write func(w http.ResponseWriter, req *http.Request) error) http.HandlerFunc {
		return func(w http.ResponseWriter, req *http.Request) {
			w.Header().Set("Content-Type", kind)
			if err := write(w, req); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
			}
		}
	}
	mux.HandleFunc("/{$}", answer("text/html; charset=utf-8",
		func(w http.ResponseWriter, _ *http.Request) error { return r.WriteServed(w) }))
	mux.HandleFunc("/details", answer("application/json", func(w http.ResponseWriter, req *http.Request) error {
		from, err := strconv.ParseInt(req.FormValue("from"), 10, 64)
		if err != nil {
			return err
		}
		to, err := strconv.ParseInt(req.FormValue("to"), 10, 64)
		if err != nil {
			return err
		}
		return r.WriteDetails(w, time.Duration(from), time.Duration(to))
	}))
	return mux
}
