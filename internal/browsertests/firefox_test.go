package browsertests

import (
	"bufio"
	"context"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/gobwas/ws"
	"github.com/gobwas/ws/wsutil"
)

// fox is a session of WebDriver BiDi with a Firefox: one page, and what it asked for and complained about.
type fox struct {
	t        *testing.T
	conn     wsConn
	id       int
	page     string
	requests []string
	problems []string
}

type wsConn interface {
	Read([]byte) (int, error)
	Write([]byte) (int, error)
}

// firefox starts one without a window; without one installed the test is skipped.
func firefox(t *testing.T) *fox {
	t.Helper()
	path := ""
	for _, name := range []string{"firefox-esr", "firefox"} {
		if p, err := exec.LookPath(name); err == nil && path == "" {
			path = p
		}
	}
	if path == "" {
		t.Skip("SKIPPED: no firefox on PATH; install Debian's package firefox-esr to check the pages in it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*browserTimeout)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-remote", "--profile", t.TempDir(), "--remote-debugging-port",
		"0")
	said, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	address := ""
	lines := bufio.NewScanner(said)
	for address == "" && lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), "WebDriver BiDi listening on "); ok {
			address = strings.TrimSpace(after)
		}
	}
	if address == "" {
		t.Fatal("Firefox did not say where it listens")
	}
	go func() { // so that it is not held up by what it says
		for lines.Scan() {
		}
	}()
	conn, _, _, err := ws.Dial(ctx, address+"/session")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	f := &fox{t: t, conn: conn}
	f.call("session.new", map[string]any{"capabilities": map[string]any{}})
	f.call("session.subscribe", map[string]any{"events": []string{"log.entryAdded", "network.beforeRequestSent"}})
	var tree struct{ Contexts []struct{ Context string } }
	if err := json.Unmarshal(f.call("browsingContext.getTree", map[string]any{}), &tree); err != nil ||
		len(tree.Contexts) == 0 {
		t.Fatal("Firefox has no page: ", err)
	}
	f.page = tree.Contexts[0].Context
	return f
}

// call sends a command and waits for its answer; events on the way are kept.
func (f *fox) call(method string, params map[string]any) json.RawMessage {
	f.t.Helper()
	f.id++
	b, err := json.Marshal(map[string]any{"id": f.id, "method": method, "params": params})
	if err != nil {
		f.t.Fatal(err)
	}
	if err := wsutil.WriteClientText(f.conn, b); err != nil {
		f.t.Fatal(err)
	}
	for {
		data, err := wsutil.ReadServerText(f.conn)
		if err != nil {
			f.t.Fatalf("%s: %v", method, err)
		}
		var m struct {
			ID             int
			Type, Method   string
			Error, Message string
			Result         json.RawMessage
			Params         struct {
				Level, Text string
				Request     struct{ URL string }
			}
		}
		if err := json.Unmarshal(data, &m); err != nil {
			f.t.Fatal(err)
		}
		switch {
		case m.Method == "network.beforeRequestSent":
			f.requests = append(f.requests, m.Params.Request.URL)
		case m.Method == "log.entryAdded":
			f.problems = append(f.problems, m.Params.Level+": "+m.Params.Text)
		case m.ID == f.id && m.Type == "error":
			f.t.Fatalf("%s: %s: %s", method, m.Error, m.Message)
		case m.ID == f.id:
			return m.Result
		}
	}
}

// value runs an expression and decodes what it gives.
func (f *fox) value(expression string, to any) {
	f.t.Helper()
	var r struct {
		Type             string
		Result           struct{ Value string }
		ExceptionDetails struct{ Text string }
	}
	text := f.call("script.evaluate", map[string]any{"expression": "JSON.stringify(" + expression + ")",
		"target": map[string]any{"context": f.page}, "awaitPromise": true})
	if err := json.Unmarshal(text, &r); err != nil || r.Type != "success" {
		f.t.Fatalf("%s: %s %v", expression, r.ExceptionDetails.Text, err)
	}
	if err := json.Unmarshal([]byte(r.Result.Value), to); err != nil {
		f.t.Fatalf("%s: %s: %v", expression, r.Result.Value, err)
	}
}

// open shows a page and waits until it has loaded: the empty page of the start may finish after the answer.
func (f *fox) open(url string) {
	f.t.Helper()
	f.call("browsingContext.navigate", map[string]any{"context": f.page, "url": url, "wait": "complete"})
	loaded := false
	for try := 0; try < 200 && !loaded; try++ {
		f.value(`document.readyState === "complete" && document.querySelector("h1") !== null`, &loaded)
		if !loaded {
			time.Sleep(50 * time.Millisecond)
		}
	}
	if !loaded {
		f.t.Fatalf("%s does not load in Firefox", url)
	}
}

// keys types into what has the focus.
func (f *fox) keys(text string) {
	f.t.Helper()
	var actions []map[string]any
	for _, k := range text {
		actions = append(actions, map[string]any{"type": "keyDown", "value": string(k)},
			map[string]any{"type": "keyUp", "value": string(k)})
	}
	f.call("input.performActions", map[string]any{"context": f.page,
		"actions": []any{map[string]any{"type": "key", "id": "keyboard", "actions": actions}}})
}

// TestPagesInFirefox: each kind of page opens in Firefox, asks for nothing, complains about nothing and fits its
// window; timelines are drawn, keys zoom and search finds.
func TestPagesInFirefox(t *testing.T) {
	f := firefox(t)
	names, pages := all(t)
	for _, name := range names {
		f.requests, f.problems = nil, nil
		f.open(pages[name])
		var fits, shown bool
		f.value(`document.documentElement.scrollWidth <= innerWidth`, &fits)
		f.value(`document.querySelector("h1").getBoundingClientRect().height > 10`, &shown)
		if !fits || !shown {
			t.Errorf("%s: fits %v, shows its verdict %v", name, fits, shown)
		}
		var drawn []int
		f.value(`strataPage.timelines.map(t => t.rects)`, &drawn)
		if name == "report" && len(drawn) != 1 {
			t.Fatalf("%d timelines in the report", len(drawn))
		}
		for _, n := range drawn {
			if n < 50 {
				t.Errorf("%s: %d rectangles are drawn", name, n)
			}
		}
		if len(drawn) > 0 {
			var coloured bool
			f.value(`(t => t.context.getImageData(0, 0, t.canvas.width, t.canvas.height).data.some((v, i) => i % 4 === 3 && v > 0))(strataPage.timelines[0])`, &coloured)
			if !coloured {
				t.Errorf("%s: the canvas is empty", name)
			}
			var part float64
			f.value(`document.querySelector(".canvas").focus()`+" ?? 0", new(int))
			f.keys("w")
			f.value(`(t => (t.view.b - t.view.a) / t.data.span)(strataPage.timelines[0])`, &part)
			if part < .6 || part > .7 {
				t.Errorf("%s: W shows %v of the window, want 1/1.5", name, part)
			}
			var found string
			f.keys("/norm")
			f.value(`document.querySelector(".hits").textContent`, &found)
			if !strings.Contains(found, " kernels, ") {
				t.Errorf("%s: the search for norm says %q", name, found)
			}
		}
		if len(f.problems) > 0 {
			t.Errorf("%s: Firefox complained: %q", name, f.problems)
		}
		for _, r := range f.requests {
			if strings.SplitN(r, "#", 2)[0] != pages[name] && !strings.HasPrefix(r, "data:") { // Firefox's own font
				t.Errorf("%s: the page asked for %s", name, r)
			}
		}
	}
}
