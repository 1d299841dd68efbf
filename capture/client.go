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
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goccy/go-json"
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
	http    http.Client
	header  http.Header
	info    time.Duration // timeout of a question
	secrets secrets
	// skew is how far the server's clock is ahead of this one, nil until it has been measured.
	skew atomic.Pointer[time.Duration]
	// dry, when set, is called instead of sending a request that changes anything.
	dry func(c *client, method, path string, body []byte)
}

// newClient checks the address.
func newClient(address string, o *Options) (*client, error) {
	base, user, err := normalURL(address)
	if err != nil {
		return nil, err
	}
	c := &client{base: base, header: http.Header{}, info: o.Timeouts.Info, dry: o.dry}
	for k, vs := range o.Header {
		c.header[http.CanonicalHeaderKey(k)] = vs
	}
	if user != nil && c.header.Get("Authorization") == "" {
		word, _ := user.Password()
		r := http.Request{Header: c.header}
		r.SetBasicAuth(user.Username(), word)
		c.secrets.Add(word)
	}
	c.secrets.AddHeader(c.header)
	own := http.DefaultTransport.(*http.Transport).Clone()
	own.DisableKeepAlives = true // a server may close an idle connection while a stop request is on its way
	dial := own.DialContext
	own.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if wrote, ok := ctx.Value(wroteKey{}).(*atomic.Bool); ok && err == nil {
			conn = noting{conn, wrote}
		}
		return conn, err
	}
	c.http.Transport = own
	// A profiler route that redirects is not the server's own, and a POST that is redirected becomes a GET.
	c.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return c, nil
}

// noting is a connection of one request that notes when anything was written to it; wroteKey is where its context has
// the note.
type (
	noting struct {
		net.Conn
		wrote *atomic.Bool
	}
	wroteKey struct{}
)

// Write implements io.Writer.
func (n noting) Write(p []byte) (int, error) {
	n.wrote.Store(true)
	return n.Conn.Write(p)
}

// schemes are those of addresses of servers.
var schemes = []string{"http", "https"}

// normalURL adds a scheme and cuts what users copy along. User and password come back apart: the address is printed.
func normalURL(s string) (base string, user *url.Userinfo, err error) {
	raw := strings.TrimSpace(s)
	if raw == "" {
		return "", nil, errors.New("capture: no server address (URL, --url)")
	}
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	var ue *url.Error // its text repeats the address
	switch {
	case errors.As(err, &ue):
		err = ue.Err
	case err == nil && (!slices.Contains(schemes, u.Scheme) || u.Host == ""):
		err = errors.New("want http://host:port")
	}
	if err != nil {
		var none secrets
		return "", nil, fmt.Errorf("capture: server address %q: %s", none.Scrub(s), none.Scrub(err.Error()))
	}
	user = u.User
	u.RawQuery, u.Fragment, u.User = "", "", nil
	return strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/v1"), user, nil
}

// shownURL is an address as it may be printed and stored.
func shownURL(address string) string {
	base, _, err := normalURL(address)
	if err != nil {
		return secrets{}.Scrub(address)
	}
	return base
}

// loopback is the name of this machine.
const loopback = "localhost"

// local reports whether an address is of this machine, or of a host that other addresses name.
func local(address string, given ...string) bool {
	host := func(address string) string {
		u, err := url.Parse(shownURL(address))
		if err != nil {
			return ""
		}
		return u.Hostname()
	}
	name := host(address)
	ip := net.ParseIP(name)
	near := name == loopback || ip != nil && ip.IsLoopback()
	for _, g := range given {
		near = near || name != "" && host(g) == name
	}
	return near
}

// get fetches path within the information timeout.
func (c *client) get(ctx context.Context, path string) ([]byte, error) {
	_, text, err := c.do(ctx, http.MethodGet, path, nil, c.info)
	return text, err
}

// post sends body as JSON and returns the answer's text.
func (c *client) post(ctx context.Context, path string, body any, timeout time.Duration) ([]byte, error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return nil, c.fail(http.MethodPost, path, 0, nil, err)
	}
	_, text, err := c.do(ctx, http.MethodPost, path, raw, timeout)
	return text, err
}

// object decodes a JSON object that path was answered with.
func (c *client) object(path string, text []byte) (doc map[string]any, err error) {
	if err = c.decode(http.MethodGet, path, text, &doc); err == nil && doc == nil {
		err = c.fail(http.MethodGet, path, http.StatusOK, text, errors.New("not a JSON object"))
	}
	return doc, err
}

// decode reads a JSON answer of endpoint into v.
func (c *client) decode(method, endpoint string, text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return c.fail(method, endpoint, http.StatusOK, text, fmt.Errorf("not the JSON expected: %w", err))
	}
	return nil
}

// control sends a request to a profiler route, without a body where that is nil. 2xx is not success: gateways answer
// 200 to a request they have refused, with success false in the body, and 206 when workers refused it, even when all
// did.
func (c *client) control(ctx context.Context, path string, body []byte, timeout time.Duration) error {
	code, text, err := c.do(ctx, http.MethodPost, path, body, timeout)
	if err != nil {
		return err
	}
	said := struct {
		Success bool              `json:"success"`
		Failed  []json.RawMessage `json:"failed"`
	}{Success: true}
	if json.Unmarshal(text, &said) != nil { // most servers answer with a sentence, or nothing
		said.Success = true
	}
	switch {
	case code == http.StatusPartialContent:
		return marked{c.fail(http.MethodPost, path, code, text,
			fmt.Errorf("%d workers refused", max(len(said.Failed), 1))), errPartial}
	case !said.Success:
		return marked{c.fail(http.MethodPost, path, code, text, errors.New("refused")), errNotDone}
	}
	return nil
}

// ahead is how far the clock of whoever answers is ahead of this one's, and whether that is known. Behind a proxy it is
// the proxy's clock. Less than the limit of the measurement is none.
func (c *client) ahead() (d time.Duration, known bool) {
	at := c.skew.Load()
	if at != nil && at.Abs() > clockSlack {
		d = *at
	}
	return d, at != nil
}

// dryAnswer is what every request is answered with that is not sent: a generation of no text in all the forms that are
// read.
const dryAnswer = `{"text": "", "choices": [{"text": ""}]}`

// do sends one request, with a JSON body unless that is nil, and returns a 2xx answer. Every other outcome is a
// *ServerError; a cancelled context shows through errors.Is.
func (c *client) do(ctx context.Context, method, path string, body []byte, timeout time.Duration) (int, []byte, error) {
	if c.dry != nil && method == http.MethodPost {
		c.dry(c, method, path, body)
		return http.StatusOK, []byte(dryAnswer), nil
	}
	rctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	// Headers are in a buffer at first, and a handshake writes before there are any.
	var headers, wrote atomic.Bool
	rctx = httptrace.WithClientTrace(context.WithValue(rctx, wroteKey{}, &wrote), &httptrace.ClientTrace{
		WroteHeaders: func() { headers.Store(true) }})
	var text []byte
	code := 0
	req, err := http.NewRequestWithContext(rctx, method, c.base+path, bytes.NewReader(body))
	if err == nil {
		req.Header = c.header.Clone()
		if body != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		var resp *http.Response
		if resp, err = c.http.Do(req); err == nil {
			defer resp.Body.Close()
			if t, perr := http.ParseTime(resp.Header.Get("Date")); perr == nil {
				skew := time.Until(t.Add(time.Second / 2)) // the header has whole seconds
				c.skew.Store(&skew)
			}
			code = resp.StatusCode
			text, err = io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
			switch {
			case err != nil:
			case code/100 == 3:
				text, err = nil, fmt.Errorf("redirects to %q; give that address", resp.Header.Get("Location"))
			case len(text) > maxAnswer:
				text, err = nil, fmt.Errorf("answer longer than %d bytes", maxAnswer)
			case code/100 == 2:
				return code, text, nil
			}
		}
	}
	var ue *url.Error // repeats method and URL
	switch {
	case err != nil && ctx.Err() != nil: // the caller's context, not the request's own timeout
		err = context.Cause(ctx)
	case errors.Is(err, context.DeadlineExceeded):
		err = worded{fmt.Sprintf("no answer within %v", timeout), []error{errTimeout, err}}
	case errors.As(err, &ue):
		err = ue.Err
	}
	if code == 0 && !(headers.Load() && wrote.Load()) {
		err = marked{err, errUnsent}
	}
	return code, nil, c.fail(method, path, code, text, err)
}

// fail makes a *ServerError whose texts hold no secret.
func (c *client) fail(method, path string, status int, text []byte, err error) error {
	e := &ServerError{Method: method, Server: c.base, Endpoint: path, Status: status, Err: err}
	e.Body = excerpt(c.secrets.Scrub(string(text[:min(len(text), 16*maxExcerpt)])))
	if err != nil {
		e.cause = c.secrets.Scrub(err.Error())
	}
	switch {
	case neverSent(err):
		e.Hint = "is this its address, and is it up?"
	case timedOut(err):
		e.Hint = "it may be loading, or stuck: see its log"
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Hint = "the server wants a key: --header \"Authorization: Bearer KEY\" (SGLang: its --api-key, or " +
			"--admin-api-key for the profiler)"
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
