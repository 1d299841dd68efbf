package capture

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Limits on what is read of an answer. /server_info of a large SGLang
// deployment is some hundred kB, and an answer of 2048 tokens some 10 kB.
const (
	maxAnswer  = 16 << 20
	maxExcerpt = 300
)

// client sends requests to one server. Safe for concurrent use.
type client struct {
	base   string
	http   *http.Client
	own    *http.Transport // closed with the client, nil for a caller's client
	header http.Header
	info   time.Duration
}

// newClient checks the address.
func newClient(o Options) (*client, error) {
	base, err := normalURL(o.URL)
	if err != nil {
		return nil, err
	}
	c := &client{base: base, header: o.Header, info: o.Timeouts.Info, http: o.HTTPClient}
	if c.http == nil {
		c.own = http.DefaultTransport.(*http.Transport).Clone()
		c.http = &http.Client{
			Transport: c.own,
			// A redirected POST becomes a GET elsewhere: not what was asked.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	return c, nil
}

// close lets go of idle connections, and with them of their goroutines.
func (c *client) close() {
	if c.own != nil {
		c.own.CloseIdleConnections()
	}
}

// normalURL adds a scheme and cuts what users copy along.
func normalURL(s string) (string, error) {
	if strings.TrimSpace(s) == "" {
		return "", errors.New("capture: no server address (URL, --url)")
	}
	raw := strings.TrimSpace(s)
	if !strings.Contains(raw, "://") {
		raw = "http://" + raw
	}
	u, err := url.Parse(raw)
	if err != nil {
		return "", fmt.Errorf("capture: server address %q: %w", s, err)
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", fmt.Errorf("capture: server address %q: want http://host:port", s)
	}
	u.RawQuery, u.Fragment = "", ""
	return strings.TrimSuffix(strings.TrimRight(u.String(), "/"), "/v1"), nil
}

// get fetches path within the information timeout.
func (c *client) get(ctx context.Context, path string) ([]byte, error) {
	return c.do(ctx, http.MethodGet, path, nil, c.info)
}

// post sends body as JSON, or nothing when it is nil.
func (c *client) post(ctx context.Context, path string, body any, timeout time.Duration) ([]byte, error) {
	return c.do(ctx, http.MethodPost, path, body, timeout)
}

// do sends one request and returns the body of a 2xx answer. Every other
// outcome is a *ServerError; a cancelled context shows through errors.Is.
func (c *client) do(ctx context.Context, method, path string, body any, timeout time.Duration) ([]byte, error) {
	fail := func(status int, text []byte, err error) error {
		return &ServerError{Method: method, Server: c.base, Endpoint: path, Status: status, Body: excerpt(text), Err: err}
	}
	var rd io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return nil, fail(0, nil, err)
		}
		rd = bytes.NewReader(b)
	}
	rctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(rctx, method, c.base+path, rd)
	if err != nil {
		return nil, fail(0, nil, err)
	}
	for k, vs := range c.header {
		req.Header[http.CanonicalHeaderKey(k)] = vs
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fail(0, nil, c.cause(ctx, err, timeout))
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fail(resp.StatusCode, nil, c.cause(ctx, err, timeout))
	case resp.StatusCode/100 == 3:
		return nil, fail(resp.StatusCode, nil, fmt.Errorf("redirects to %q; give that address", resp.Header.Get("Location")))
	case resp.StatusCode/100 != 2:
		return nil, fail(resp.StatusCode, text, nil)
	case len(text) > maxAnswer:
		return nil, fail(resp.StatusCode, nil, fmt.Errorf("answer longer than %d bytes", maxAnswer))
	}
	return text, nil
}

// timeoutError is a request that ran into its own timeout.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string { return fmt.Sprintf("no answer within %v", e.after) }

// Is makes it a context.DeadlineExceeded for callers.
func (e timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// cause tells the caller's cancelled context from the request's own timeout,
// and cuts the method and URL that net/http repeats.
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

// excerpt is the beginning of text on one line, without control characters:
// it ends up on a terminal.
func excerpt(text []byte) string {
	s := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\uFFFD' {
			return ' '
		}
		return r
	}, string(text[:min(len(text), 4*maxExcerpt)]))
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > maxExcerpt {
		s = strings.ToValidUTF8(s[:maxExcerpt], "") + "…"
	}
	return s
}

// status is the HTTP status of err, 0 when there was no answer.
func status(err error) int {
	var se *ServerError
	if errors.As(err, &se) {
		return se.Status
	}
	return 0
}

// timedOut reports that the server did not answer in time.
func timedOut(err error) bool {
	var te timeoutError
	return errors.As(err, &te)
}

// unreachable reports an error without any answer: nothing listens, or nothing
// speaks.
func unreachable(err error) bool { return err != nil && status(err) == 0 }

// withHint adds a hint to a *ServerError that has none.
func withHint(err error, hint string) error {
	var se *ServerError
	if errors.As(err, &se) && se.Hint == "" && hint != "" {
		c := *se
		c.Hint = hint
		return &c
	}
	return err
}

// decode reads a JSON answer of endpoint into v.
func (c *client) decode(method, endpoint string, text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return &ServerError{Method: method, Server: c.base, Endpoint: endpoint, Status: http.StatusOK, Body: excerpt(text), Err: fmt.Errorf("not the JSON expected: %w", err)}
	}
	return nil
}
