package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/llmstrata/strata/perfetto"
)

// address is the only plain-http address from which the UI may fetch a
// trace: its content security policy allows 127.0.0.1:9001 and no other port.
const address = "127.0.0.1:9001"

// DefaultTimeout is how long [Server.Wait] waits for the UI by default.
const DefaultTimeout = 5 * time.Minute

// headerTimeout bounds how long a client may take to send its request line
// and headers, so that an idle connection cannot keep the server up.
const headerTimeout = 10 * time.Second

// shutdownTimeout bounds how long a transfer under way may go on once the
// server has to stop.
const shutdownTimeout = 5 * time.Second

// Server hands one file to one UI, once. It listens on the loopback interface
// only, answers only the UI's origin, and serves only that file.
type Server struct {
	path    string
	name    string
	ln      net.Listener
	http    *http.Server
	fetched chan struct{} // closed after the file was sent whole
	once    sync.Once     // closes fetched
	done    chan error    // http.Serve's result
}

// ErrNotFetched is returned when nobody fetched the trace in time.
var ErrNotFetched = errors.New("serve: the UI did not fetch the trace")

// Start starts to serve the file at path to pages of the UI on addr (Address when empty). Only loopback addresses are
// accepted.
func Start(path, addr string) (*Server, error) {
	addr = cmp.Or(addr, address)
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("serve: %s is not a regular file", path)
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("serve: address %q: %w", addr, err)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("serve: address %q is not a loopback address: traces are served to this machine only",
			addr)
	}
	ln, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("serve: %w (is another trace being served? the UI accepts only %s)", err, address)
	}
	s := &Server{
		path: path, name: filepath.Base(path), ln: ln,
		fetched: make(chan struct{}), done: make(chan error, 1),
	}
	s.http = &http.Server{Handler: http.HandlerFunc(s.handle), ReadHeaderTimeout: headerTimeout}
	go func() { s.done <- s.http.Serve(ln) }()
	return s, nil
}

// URL returns where the UI fetches the trace from.
func (s *Server) URL() string {
	u := url.URL{Scheme: "http", Host: s.ln.Addr().String(), Path: "/" + s.name}
	return u.String()
}

// Wait returns nil after the UI fetched the whole file, ErrNotFetched after
// the timeout (DefaultTimeout when 0), or the context's error. The server
// is closed in each case.
func (s *Server) Wait(ctx context.Context, timeout time.Duration) error {
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	var err error
	select {
	case <-s.fetched:
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = fmt.Errorf("%w within %v", ErrNotFetched, timeout)
	case e := <-s.done:
		s.done <- e
		err = fmt.Errorf("serve: server stopped: %w", e)
	}
	return errors.Join(err, s.Close())
}

// Close stops the server; a transfer under way may finish within a few seconds.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), shutdownTimeout)
	defer cancel()
	if err := s.http.Shutdown(ctx); err != nil {
		return s.http.Close()
	}
	return nil
}

func (s *Server) handle(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Vary", "Origin")
	h.Set("X-Content-Type-Options", "nosniff")
	if o := r.Header.Get("Origin"); o != perfetto.UIOrigin {
		http.Error(w, fmt.Sprintf("this trace is served to %s only", perfetto.UIOrigin), http.StatusForbidden)
		return
	}
	if !loopbackHost(s.ln, r.Host) {
		// A page elsewhere may point a name of its own at 127.0.0.1 (DNS
		// rebinding); its requests carry that name.
		http.Error(w, "unknown host", http.StatusForbidden)
		return
	}
	h.Set("Access-Control-Allow-Origin", perfetto.UIOrigin)
	if r.URL.Path != "/"+s.name {
		http.Error(w, "only the one trace is served here", http.StatusNotFound)
		return
	}
	switch r.Method {
	case http.MethodOptions:
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
		// Chromium asks before a public page may reach a loopback address.
		if r.Header.Get("Access-Control-Request-Private-Network") != "" {
			h.Set("Access-Control-Allow-Private-Network", "true")
		}
		w.WriteHeader(http.StatusNoContent)
		return
	case http.MethodGet, http.MethodHead:
	default:
		h.Set("Allow", "GET, HEAD, OPTIONS")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	f, err := os.Open(s.path)
	if err != nil {
		http.Error(w, "the trace is gone", http.StatusGone)
		return
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		http.Error(w, "the trace cannot be read", http.StatusInternalServerError)
		return
	}
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Cache-Control", "no-store")
	cw := &countingWriter{ResponseWriter: w}
	http.ServeContent(cw, r, "", info.ModTime(), f)
	if r.Method == http.MethodGet && cw.sent(info.Size()) {
		s.once.Do(func() { close(s.fetched) })
	}
}

// loopback is the name of this machine.
const loopback = "localhost"

// loopbackHost reports whether the host of a request is this machine, and the port that of the listener.
func loopbackHost(ln net.Listener, host string) bool {
	_, port, err := net.SplitHostPort(ln.Addr().String())
	if err != nil {
		return false
	}
	name, p, err := net.SplitHostPort(host)
	if err != nil || p != port {
		return false
	}
	ip := net.ParseIP(name)
	return strings.EqualFold(name, loopback) || (ip != nil && ip.IsLoopback())
}

// countingWriter counts the body bytes that were accepted for sending.
type countingWriter struct {
	http.ResponseWriter
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n += int64(n)
	return n, err
}

// sent reports whether the response covered the file to its last byte. A
// range request that ends there counts: the client has the rest.
func (c *countingWriter) sent(size int64) bool {
	want := size
	if cr := c.Header().Get("Content-Range"); cr != "" {
		if length, err := strconv.ParseInt(c.Header().Get("Content-Length"), 10, 64); err == nil &&
			strings.Contains(cr, fmt.Sprintf("-%d/", size-1)) {
			want = length
		}
	}
	return c.n >= want
}
