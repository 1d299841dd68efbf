package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/capture/internal/secret"
)

// Limits on what is read of an answer. /server_info of a large SGLang deployment is some hundred kB, and an answer of
// 2048 tokens some 10 kB.
const (
	maxAnswer  = 16 << 20
	maxExcerpt = 300
)

// client sends requests to one server. Safe for concurrent use.
type client struct {
	base    string // without user and password
	http    *http.Client
	own     *http.Transport // closed with the client, nil for a caller's client
	header  http.Header
	info    time.Duration // timeout of a question
	secrets secret.Set
	// skew is how far the server's clock is ahead of this one, in nanoseconds, known when it has been measured.
	skew  atomic.Int64
	known atomic.Bool
	// dry, when set, is called instead of sending a request that changes anything.
	dry func(c *client, method, path string, body []byte)
}

// answer is what a server said, with a 2xx status.
type answer struct {
	status int
	text   []byte
}

// newClient checks the address.
func newClient(address string, o *Options) (*client, error) {
	base, user, err := normalURL(address)
	if err != nil {
		return nil, err
	}
	c := &client{base: base, header: o.Header.Clone(), info: o.Timeouts.Info, http: o.HTTPClient, dry: o.dry}
	if c.header == nil {
		c.header = http.Header{}
	}
	if user != nil && c.header.Get("Authorization") == "" {
		word, _ := user.Password()
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(user.Username(), word)
		c.header.Set("Authorization", r.Header.Get("Authorization"))
		c.secrets.Add(word)
	}
	c.secrets.AddHeader(c.header)
	if c.http == nil {
		c.own = http.DefaultTransport.(*http.Transport).Clone()
		// A profiler route that redirects is not the server's own, and a POST that is redirected becomes a GET.
		c.http = &http.Client{Transport: c.own, CheckRedirect: func(*http.Request,
			[]*http.Request) error {
			return http.ErrUseLastResponse
		}}
	}
	return c, nil
}

// close lets go of idle connections, and with them of their goroutines.
func (c *client) close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// normalURL adds a scheme and cuts what users copy along. User and password come back apart: the address is printed.
func normalURL(s string) (base string, user *url.Userinfo, err error) {
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
		return "", nil, fmt.Errorf("capture: server address %q: %s", secret.Set{}.Scrub(s),
			secret.Set{}.Scrub(err.Error()))
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", nil, fmt.Errorf("capture: server address %q: want http://host:port", secret.Set{}.Scrub(s))
	}
	user = u.User
	u.RawQuery, u.Fragment, u.User = "", "", nil
	return strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/v1"), user, nil
}

// shownURL is an address as it may be printed and stored.
func shownURL(address string) string {
	base, _, err := normalURL(address)
	if err != nil {
		return secret.Set{}.Scrub(address)
	}
	return base
}

// local reports whether an address is of this machine, or of a host that other addresses name.
func local(address string, given ...string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return true
	}
	for _, g := range given {
		if v, err := url.Parse(shownURL(g)); err == nil && v.Hostname() == host {
			return true
		}
	}
	return false
}

// get fetches path within the information timeout.
func (c *client) get(ctx context.Context, path string) ([]byte, error) {
	a, err := c.do(ctx, http.MethodGet, path, nil, c.info)
	return a.text, err
}

// getJSON is get of a JSON object.
func (c *client) getJSON(ctx context.Context, path string) (map[string]any, error) {
	text, err := c.get(ctx, path)
	if err != nil {
		return nil, err
	}
	return c.object(path, text)
}

// object decodes a JSON object that path was answered with.
func (c *client) object(path string, text []byte) (doc map[string]any, err error) {
	if err = c.decode(http.MethodGet, path, text, &doc); err == nil && doc == nil {
		err = c.fail(http.MethodGet, path, http.StatusOK, text, errors.New("not a JSON object"))
	}
	return doc, err
}

// post sends body as JSON, or nothing when it is nil.
func (c *client) post(ctx context.Context, path string, body any, timeout time.Duration) (answer, error) {
	return c.do(ctx, http.MethodPost, path, body, timeout)
}

// control sends a request to a profiler route. 2xx is not success: gateways answer 200 to a request they have refused,
// with success false in the body, and 206 when workers refused it, even when all did.
func (c *client) control(ctx context.Context, path string, body json.RawMessage, timeout time.Duration) error {
	var send any
	if body != nil {
		send = body
	}
	a, err := c.post(ctx, path, send, timeout)
	if err != nil {
		return err
	}
	var said struct {
		Success *bool             `json:"success"`
		Failed  []json.RawMessage `json:"failed"`
	}
	isJSON := json.Unmarshal(a.text, &said) == nil // most servers answer with a sentence, or nothing
	switch {
	case a.status == http.StatusPartialContent:
		return mark(c.fail(http.MethodPost, path, a.status, a.text,
			fmt.Errorf("%d workers refused", max(len(said.Failed), 1))), errPartial)
	case isJSON && said.Success != nil && !*said.Success:
		return mark(c.fail(http.MethodPost, path, a.status, a.text, errors.New("refused")), errNotDone)
	}
	return nil
}

// compareClocks measures how far the server's clock is ahead. The header has whole seconds, so half of one is added.
func (c *client) compareClocks(date string) {
	if t, err := http.ParseTime(date); err == nil {
		c.skew.Store(int64(time.Until(t.Add(time.Second / 2))))
		c.known.Store(true)
	}
}

// ahead is how far the clock of whoever answers is ahead of this one's, and whether that is known. Behind a proxy it is
// the proxy's clock. Less than the limit of the measurement is none.
func (c *client) ahead() (time.Duration, bool) {
	d := time.Duration(c.skew.Load())
	if d.Abs() <= clockSlack {
		d = 0
	}
	return d, c.known.Load()
}

// dryAnswer is what every request is answered with that is not sent: a generation of no text in all the forms that are
// read.
const dryAnswer = `{"text": "", "choices": [{"text": ""}]}`

// do sends one request and returns a 2xx answer. Every other outcome is a *ServerError; a cancelled context shows
// through errors.Is.
func (c *client) do(ctx context.Context, method, path string, body any, timeout time.Duration) (answer, error) {
	fail := func(status int, text []byte, err error) (answer, error) {
		return answer{status: status}, c.fail(method, path, status, text, err)
	}
	var raw []byte
	if body != nil {
		var err error
		if raw, err = json.Marshal(body); err != nil {
			return fail(0, nil, err)
		}
	}
	if c.dry != nil && method == http.MethodPost {
		c.dry(c, method, path, raw)
		return answer{http.StatusOK, []byte(dryAnswer)}, nil
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
	req, err := http.NewRequestWithContext(rctx, method, c.base+path, rd)
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
			err = mark(err, errUnsent)
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
	return answer{resp.StatusCode, text}, nil
}

// cause separates the caller's cancelled context from the request's own timeout. It cuts the method and URL that
// net/http repeats.
func (c *client) cause(ctx context.Context, err error, timeout time.Duration) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return timeoutError{timeout}
	}
	var ue *url.Error
	if errors.As(err, &ue) {
		return ue.Err
	}
	return err
}

// fail makes a *ServerError whose texts hold no secret.
func (c *client) fail(method, path string, status int, text []byte, err error) error {
	e := &ServerError{Method: method, Server: c.base, Endpoint: path, Status: status, Err: err}
	e.Body = excerpt(c.secrets.Scrub(string(text[:min(len(text), 16*maxExcerpt)])))
	if err != nil {
		e.cause = c.secrets.Scrub(err.Error())
	}
	if status == http.StatusUnauthorized || status == http.StatusForbidden {
		e.Hint = "the server wants a key: --header \"Authorization: Bearer KEY\" (SGLang: its --api-key, or --admin-api-key for the profiler)"
	}
	return e
}

// excerpt is the beginning of text on one line, without control characters: it ends up on a terminal.
func excerpt(text string) string {
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return ' '
		}
		return r
	}, text)
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxExcerpt {
		s = strings.ToValidUTF8(s[:maxExcerpt], "") + "…"
	}
	return s
}

// redact returns a server's document without secrets.
func (c *client) redact(doc map[string]any) map[string]any {
	return c.secrets.Document(doc).(map[string]any)
}

// decode reads a JSON answer of endpoint into v.
func (c *client) decode(method, endpoint string, text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return c.fail(method, endpoint, http.StatusOK, text, fmt.Errorf("not the JSON expected: %w", err))
	}
	return nil
}
