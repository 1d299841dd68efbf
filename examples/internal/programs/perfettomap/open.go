package perfettomap

import (
	"context"
	"errors"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/serve"
	"github.com/llmstrata/strata/perfetto"
)

// machine is what --open needs of the computer it runs on.
type machine struct {
	address string // to serve on, empty for the one the UI accepts
	browser app.Browser
}

// openUI opens the UI and waits until it has fetched the trace.
func openUI(ctx context.Context, env *app.Env, s *serve.Server, pm *perfetto.Map, o options, m machine) error {
	url := target(pm, s)
	env.Notef("serving the trace to the Perfetto UI, once, for at most %v", o.openTimeout)
	env.Notef("Chromium and Chrome from version 142 on ask whether the page may reach this computer (\"apps on this " +
		"device\"): allow it")
	if env.Browse(m.browser, url) {
		// the UI fetches the trace
	} else if m.browser.SSH != "" {
		env.Notef("you came by SSH, and the UI takes traces only from the computer that its browser runs on: run there")
		env.Notef("  ssh -N -L 9001:127.0.0.1:9001 %s    # or the name by which you reach this machine", m.browser.SSH)
		env.Notef("then open this in that browser: %s", url)
	} else {
		env.Notef("open this in a browser on this computer: %s", url)
	}
	err := s.Wait(ctx, o.openTimeout)
	if err == nil {
		env.Notef("the UI has the trace; the server is gone")
	}
	if errors.Is(err, serve.ErrNotFetched) {
		env.Notef("was the page allowed to reach this computer? A saved trace can also be opened by hand: %s",
			perfetto.UIOrigin)
	}
	return err
}

// target returns the link to the first marked layer, else to the pass, else to
// the complete trace.
func target(pm *perfetto.Map, s *serve.Server) string {
	for _, l := range pm.Layers {
		if l.Highlighted {
			return l.URL
		}
	}
	if pm.Pass >= 0 {
		return pm.Passes[pm.Pass].URL
	}
	return perfetto.Link(s.URL(), perfetto.Range{})
}
