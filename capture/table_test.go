package capture_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/internal/testdata"
)

// token is a secret that every server of the fault table echoes.
const token = "tok-9f2c7d1e55aa"

// kind is one way in which a request can go wrong. act, when set, has the
// server carry the request out; before says that it does so before anything
// else.
type kind struct {
	name  string
	serve func(w http.ResponseWriter, r *http.Request, act func(http.ResponseWriter))
}

// nobody is where the server's own answer goes when another is sent.
type nobody struct{}

// Header is thrown away.
func (nobody) Header() http.Header { return http.Header{} }

// Write throws away.
func (nobody) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader throws away.
func (nobody) WriteHeader(int) {}

// hijack takes the connection away from the server.
func hijack(w http.ResponseWriter, raw string) {
	conn, buf, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	io.WriteString(buf, raw)
	buf.Flush()
	conn.Close()
}

// kinds are the faults of the table.
func kinds() []kind {
	var list []kind
	add := func(name string, serve func(http.ResponseWriter, *http.Request, func(http.ResponseWriter))) {
		list = append(list, kind{name, serve})
	}
	// Statuses of a server that did nothing.
	for _, code := range []int{300, 302, 307, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 422, 429, 431, 451} {
		add(fmt.Sprint(code), func(w http.ResponseWriter, r *http.Request, _ func(http.ResponseWriter)) {
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"detail": "refused", "got": %q}`, r.Header.Get("Authorization"))
		})
	}
	add("500 in progress", func(w http.ResponseWriter, _ *http.Request, _ func(http.ResponseWriter)) {
		http.Error(w, "Profiling is already in progress. Call /stop_profile first.", 500)
	})
	add("200 refused", func(w http.ResponseWriter, _ *http.Request, _ func(http.ResponseWriter)) {
		io.WriteString(w, `{"success": false}`)
	})
	// Statuses that leave open what the server did: once it did, once not.
	for _, done := range []bool{false, true} {
		for _, code := range []int{206, 408, 499, 500, 501, 502, 503, 504, 507, 520} {
			add(fmt.Sprintf("%d done %v", code, done), func(w http.ResponseWriter, r *http.Request,
				act func(http.ResponseWriter)) {
				if done {
					act(nobody{})
				}
				w.WriteHeader(code)
				fmt.Fprintf(w, `{"status": "x", "failed": [1], "key": %q}`,
					strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			})
		}
		add(fmt.Sprintf("reset done %v", done), func(w http.ResponseWriter, _ *http.Request,
			act func(http.ResponseWriter)) {
			if done {
				act(nobody{})
			}
			hijack(w, "")
		})
		add(fmt.Sprintf("no HTTP done %v", done), func(w http.ResponseWriter, _ *http.Request,
			act func(http.ResponseWriter)) {
			if done {
				act(nobody{})
			}
			hijack(w, "what?\r\n\r\n")
		})
		add(fmt.Sprintf("silence done %v", done), func(w http.ResponseWriter, r *http.Request,
			act func(http.ResponseWriter)) {
			if done {
				act(nobody{})
			}
			<-r.Context().Done()
		})
	}
	// Carried out, and answered badly.
	for name, raw := range map[string]string{
		"200 and reset":      "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"te",
		"200 empty":          "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
		"200 no end":         "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"tex",
		"200 bad chunk":      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
		"200 not gzip":       "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\nhello",
		"200 HTML":           "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\n<html>",
		"200 controls":       "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\n\x1b[2J",
		"204":                "HTTP/1.1 204 No Content\r\n\r\n",
		"early hints, reset": "HTTP/1.1 103 Early Hints\r\n\r\n",
		"200 two lengths":    "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 9\r\n\r\n{}{}",
	} {
		add(name, func(w http.ResponseWriter, _ *http.Request, act func(http.ResponseWriter)) {
			act(nobody{})
			hijack(w, raw)
		})
	}
	add("200 trickle", func(w http.ResponseWriter, r *http.Request, act func(http.ResponseWriter)) {
		act(nobody{})
		w.Header().Set("Content-Length", "1000")
		w.WriteHeader(200)
		for r.Context().Err() == nil {
			io.WriteString(w, " ")
			w.(http.Flusher).Flush()
			time.Sleep(5 * time.Millisecond)
		}
	})
	add("200 endless", func(w http.ResponseWriter, r *http.Request, act func(http.ResponseWriter)) {
		act(nobody{})
		chunk := make([]byte, 1<<20)
		for range 20 {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	return list
}

// TestFaultTable: whatever goes wrong with the start, a request or the stop,
// on whatever server, the profiler is not left on, no server is stopped twice
// that may not be, nothing lies outside the folder, and no output has the key.
// The server counts.
func TestFaultTable(t *testing.T) {
	list := kinds()
	if len(list) < 40 {
		t.Errorf("%d kinds of faults, want at least 40", len(list))
	}
	t.Logf("%d kinds × 3 phases × %d servers", len(list), len(all))
	room := make(chan struct{}, 40) // most of a run is waiting
	var wg sync.WaitGroup
	for _, f := range all {
		for phase, path := range map[string]string{"start": "/start_profile", "requests": genPath(f),
			"stop": "/stop_profile"} {
			for i, k := range list {
				if !testdata.Long() && i%len(all) != slices.Index(all, f) {
					continue
				}
				room <- struct{}{}
				wg.Go(func() {
					defer func() { <-room }()
					oneFault(t, f, phase, path, k)
				})
			}
		}
	}
	wg.Wait()
	noLeaks(t)
}

// oneFault is a cell of the table.
func oneFault(t *testing.T, f capture.Framework, phase, path string, k kind) {
	dir := outDir(t)
	s := newFake(t, f, dir)
	s.fault = func(w http.ResponseWriter, r *http.Request, p string, n int) bool {
		if p == "/v1/completions" && phase == "requests" {
			p = path // no way around it
		}
		if p != path {
			return false
		}
		k.serve(w, r, func(w http.ResponseWriter) {
			s.mu.Lock()
			c := s.calls[len(s.calls)-1]
			s.mu.Unlock()
			s.answer(w, c)
		})
		return true
	}
	limit := 10 * time.Second
	if strings.HasPrefix(k.name, "silence") || strings.HasSuffix(k.name, "trickle") {
		limit = 400 * time.Millisecond // there is no other end to it
	}
	o := capture.Options{
		URL: strings.Replace(s.URL, "http://", "http://me:"+token+"x@", 1), Framework: f, OutputDir: dir,
		Header:   http.Header{"Authorization": {"Bearer " + token}},
		Workload: capture.WorkloadDecode, WarmupSteps: -1, NumSteps: 2, Decode: capture.Shape{OutputLen: 8},
		ArmDelay: -1,
		Timeouts: capture.Timeouts{Info: 5 * time.Second, Start: limit, Stop: limit, Request: limit,
			Traces: 25 * time.Millisecond, Quiet: 25 * time.Millisecond, Cleanup: 5 * time.Second,
			Detach: 5 * time.Millisecond,
			Poll:   time.Millisecond, Stable: 2 * time.Millisecond, Settle: 4 * time.Millisecond},
	}
	var said strings.Builder
	o.Progress = func(p capture.Progress) { fmt.Fprintln(&said, p.Message) }
	before := tree(t, filepath.Dir(dir), dir)
	res, err := capture.Run(context.Background(), o)
	name := fmt.Sprintf("%s, %s, %s", f, phase, k.name)
	counts := func() (int, int) {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.starts, s.stops
	}
	starts, stops := counts()
	for range 200 { // a request that was given up may still be on its way
		if starts <= stops {
			break
		}
		time.Sleep(10 * time.Millisecond)
		starts, stops = counts()
	}
	if starts > stops {
		t.Errorf("%s: %d windows opened and %d stop requests: the profiler is on; %v; requests %v", name, starts, stops,
			err, s.paths())
	}
	most := 1
	if stopTwice[f] {
		most = 2
	}
	if stops > most || starts > 1 {
		t.Errorf("%s: %d stop requests and %d windows", name, stops, starts)
	}
	if err != nil {
		fmt.Fprintln(&said, err)
	}
	fmt.Fprintf(&said, "%+v", res)
	if strings.Contains(said.String(), token) || contains(t, dir, token) {
		t.Errorf("%s: the key is in the output:\n%s", name, said.String())
	}
	if after := tree(t, filepath.Dir(dir), dir); after != before {
		t.Errorf("%s: outside the folder, was:\n%s\nis:\n%s", name, before, after)
	}
	if phase == "start" && err == nil && !strings.HasPrefix(k.name, "200") && k.name != "204" {
		t.Errorf("%s: no error", name)
	}
	if errors.Is(err, capture.ErrStillRunning) && phase != "stop" {
		t.Errorf("%s: the stop request was answered well: %v", name, err)
	}
}
