package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/llmstrata/strata/capture/internal/secret"
)

// The profiler's routes, the same on all servers.
const (
	StartPath = "/start_profile"
	StopPath  = "/stop_profile"
)

// Limits on what is read of an answer. /server_info of a large SGLang
// deployment is some hundred kB, and an answer of 2048 tokens some 10 kB.
const (
	maxAnswer  = 16 << 20
	maxExcerpt = 300
)

// Client sends requests to one server. Safe for concurrent use.
type Client struct {
	Base    string // without user and password
	http    *http.Client
	own     *http.Transport // closed with the client, nil for a caller's client
	header  http.Header
	Info    time.Duration
	Secrets secret.Set
	// skew is how far the server's clock is ahead of this one, in nanoseconds,
	// known when it has been measured.
	skew  atomic.Int64
	known atomic.Bool
	// Dry, when set, is told of requests that change anything instead of
	// their being sent.
	Dry func(method, path string, body []byte)
}

// Answer is what a server said, with a 2xx status.
type Answer struct {
	// Status is 2xx, Text the body.
	Status int
	Text   []byte
}

// New checks the address.
func New(o Options) (*Client, error) {
	base, user, err := normalURL(o.URL)
	if err != nil {
		return nil, err
	}
	c := &Client{Base: base, header: o.Header.Clone(), Info: o.InfoTimeout, http: o.HTTPClient}
	if c.header == nil {
		c.header = http.Header{}
	}
	if user != nil && c.header.Get("Authorization") == "" {
		word, _ := user.Password()
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(user.Username(), word)
		c.header.Set("Authorization", r.Header.Get("Authorization"))
		c.Secrets.Add(word)
	}
	c.Secrets.AddHeader(c.header)
	if c.http == nil {
		c.own = http.DefaultTransport.(*http.Transport).Clone()
		c.http = &http.Client{
			Transport: c.own,
			// A profiler route that redirects is not the server's own, and a
			// POST that is redirected becomes a GET.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return c, nil
}

// Close lets go of idle connections, and with them of their goroutines.
func (c *Client) Close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// normalURL adds a scheme and cuts what users copy along. User and password
// come back apart: the address is printed.
func normalURL(s string) (Base string, user *url.Userinfo, err error) {
	if strings.TrimSpace(s) == "" {
		return "", nil, errors.New("capture: no server address (URL, --url)")
	}
	raw := strings.TrimSpace(s)
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		var ue *url.Error // its text repeats the address
		if errors.As(err, &ue) {
			err = ue.Err
		}
		return "", nil, fmt.Errorf("capture: server address %q: %s", secret.Set{}.Scrub(s), secret.Set{}.Scrub(err.Error()))
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", nil, fmt.Errorf("capture: server address %q: want http://host:port", secret.Set{}.Scrub(s))
	}
	user = u.User
	u.RawQuery, u.Fragment, u.User = "", "", nil
	return strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/v1"), user, nil
}

// Shown is an address as it may be printed and stored.
func Shown(address string) string {
	base, _, err := normalURL(address)
	if err != nil {
		return secret.Set{}.Scrub(address)
	}
	return base
}

// Get fetches path within the information timeout.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	a, err := c.Do(ctx, http.MethodGet, path, nil, c.Info)
	return a.Text, err
}

// Post sends body as JSON, or nothing when it is nil.
func (c *Client) Post(ctx context.Context, path string, body any, timeout time.Duration) (Answer, error) {
	return c.Do(ctx, http.MethodPost, path, body, timeout)
}

// compareClocks measures how far the server's clock is ahead. The header has
// whole seconds, so half of one is added.
func (c *Client) compareClocks(date string) {
	if t, err := http.ParseTime(date); err == nil {
		c.skew.Store(int64(time.Until(t.Add(time.Second / 2))))
		c.known.Store(true)
	}
}

// Ahead is how far the server's clock is ahead of this one's, and whether that
// is known. Less than the limit of the measurement is none.
func (c *Client) Ahead() (time.Duration, bool) {
	d := time.Duration(c.skew.Load())
	if d.Abs() <= ClockSlack {
		d = 0
	}
	return d, c.known.Load()
}

// dryAnswer is what every request is answered with that is not sent: a
// generation of no text in all the forms that are read.
const dryAnswer = `{"text": "", "choices": [{"text": ""}]}`

// Do sends one request and returns a 2xx answer. Every other outcome is a
// *Error; a cancelled context shows through errors.Is.
func (c *Client) Do(ctx context.Context, method, path string, body any, timeout time.Duration) (Answer, error) {
	fail := func(status int, text []byte, err error) (Answer, error) {
		return Answer{Status: status}, c.Fail(method, path, status, text, err)
	}
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return fail(0, nil, err)
		}
	}
	if c.Dry != nil && method == http.MethodPost {
		c.Dry(method, path, raw)
		return Answer{http.StatusOK, []byte(dryAnswer)}, nil
	}
	rctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// A transport that does not say what it does may have sent anything.
	var watched, sent atomic.Bool
	rctx = httptrace.WithClientTrace(rctx, &httptrace.ClientTrace{
		GetConn:      func(string) { watched.Store(true) },
		WroteHeaders: func() { sent.Store(true) },
	})
	var rd io.Reader
	if body != nil {
		rd = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(rctx, method, c.Base+path, rd)
	if err != nil {
		return fail(0, nil, err)
	}
	for k, vs := range c.header {
		req.Header[http.CanonicalHeaderKey(k)] = vs
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		err = c.cause(ctx, err, timeout)
		if watched.Load() && !sent.Load() {
			err = UnsentError{err}
		}
		return fail(0, nil, err)
	}
	defer resp.Body.Close()
	c.compareClocks(resp.Header.Get("Date"))
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return fail(resp.StatusCode, nil, c.cause(ctx, err, timeout))
	case resp.StatusCode/100 == 3:
		return fail(resp.StatusCode, nil, fmt.Errorf("redirects to %q; give that address", resp.Header.Get("Location")))
	case resp.StatusCode/100 != 2:
		return fail(resp.StatusCode, text, nil)
	case len(text) > maxAnswer:
		return fail(resp.StatusCode, nil, fmt.Errorf("answer longer than %d bytes", maxAnswer))
	}
	return Answer{resp.StatusCode, text}, nil
}

// Fail makes a *Error whose texts hold no secret.
func (c *Client) Fail(method, path string, status int, text []byte, err error) error {
	e := &Error{Method: method, Server: c.Base, Endpoint: path, Status: status, Body: excerpt([]byte(c.Secrets.Scrub(string(text[:min(len(text), 16*maxExcerpt)])))), Err: err}
	if err != nil {
		if clean := c.Secrets.Scrub(err.Error()); clean != err.Error() {
			e.Err = scrubbed{clean, err}
		}
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		e.Hint = "the server wants a key: --header \"Authorization: Bearer KEY\" (SGLang: its --api-key, or --admin-api-key for the profiler)"
	}
	return e
}

// scrubbed is an error whose text held a secret.
type scrubbed struct {
	text string
	error
}

func (e scrubbed) Error() string { return e.text }

// Unwrap returns the error as it was.
func (e scrubbed) Unwrap() error { return e.error }

// excerpt is the beginning of text on one line, without control characters:
// it ends up on a terminal.
func excerpt(text []byte) string {
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return ' '
		}
		return r
	}, string(text))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxExcerpt {
		s = strings.ToValidUTF8(s[:maxExcerpt], "") + "…"
	}
	return s
}

// Redact returns a server's document without Secrets.
func (c *Client) Redact(doc map[string]any) map[string]any {
	return c.Secrets.Document(doc).(map[string]any)
}

// decode reads a JSON answer of endpoint into v.
func (c *Client) decode(method, endpoint string, text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return c.Fail(method, endpoint, http.StatusOK, text, fmt.Errorf("not the JSON expected: %w", err))
	}
	return nil
}
