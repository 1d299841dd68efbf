package capture

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-json"
)

// The routes that generate. SGLang's own counts cached tokens.
const (
	routeNative = "/generate"
	routeChat   = "/v1/chat/completions"
)

// request is one generation.
type request struct {
	prompt string
	seed   int
	// maxTokens are generated at most, past an end of sequence with ignoreEOS.
	maxTokens int
	ignoreEOS bool
}

// body is the request as a route wants it.
func (r request) body(route, model string) map[string]any {
	b := map[string]any{"temperature": 0}
	if r.ignoreEOS {
		b["ignore_eos"] = true
	}
	if route == routeNative {
		b["sampling_seed"], b["max_new_tokens"] = r.seed, r.maxTokens
		return map[string]any{"text": r.prompt, "sampling_params": b, "stream": false}
	}
	b["model"], b["max_tokens"], b["seed"], b["stream"] = model, r.maxTokens, r.seed, false
	if route == routeChat {
		b["messages"] = []map[string]string{{"role": "user", "content": r.prompt}}
	} else {
		b["prompt"] = r.prompt
	}
	return b
}

// reply is what a server said to one request. Counts are -1 where it did not say.
type reply struct {
	text string // reasoning included
	// tokens were generated from prompt tokens; cached of the latter were in the prefix cache.
	tokens, prompt, cached int
}

// generate sends the nth request, by the routes of the contract: to the next one if the server refused the first or
// answered something that is no answer. Silence is not refusal: a server that does not answer in time is not asked
// again. It is called concurrently.
func (d *deployment) generate(ctx context.Context, n int, r request, timeout time.Duration) (reply, error) {
	c, routes := d.load[n%len(d.load)], d.targets[0].con.Generate
	var errs []error
	for i := d.route.Load(); int(i) < len(routes); i++ {
		text, err := c.post(ctx, routes[i], r.body(routes[i], d.targets[0].info.Model), timeout)
		if err == nil {
			var a reply
			if a, err = c.readReply(routes[i], text); err == nil {
				if i > d.route.Load() { // an answer that was under way does not lead back
					d.route.Store(i)
				}
				return a, nil
			}
		}
		if errs = append(errs, err); ctx.Err() != nil || unreachable(err) {
			break
		}
	}
	return reply{}, join(errs...)
}

// usage counts tokens. A null is "not said", not none.
type usage struct {
	Completion *float64 `json:"completion_tokens"`
	Prompt     *float64 `json:"prompt_tokens"`
	Cached     *float64 `json:"cached_tokens"`
	Details    struct {
		Cached *float64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

// generated is an answer of any of the routes: content may be a string or a list of parts, and may be missing where
// only reasoning was generated.
type generated struct {
	Text    string `json:"text"`
	Meta    usage  `json:"meta_info"`
	Choices []struct {
		Text    string `json:"text"`
		Message struct {
			Content    json.RawMessage `json:"content"`
			Reasoning  string          `json:"reasoning"`
			ReasoningC string          `json:"reasoning_content"`
		} `json:"message"`
	} `json:"choices"`
	Usage usage `json:"usage"`
}

func (c *client) readReply(route string, text []byte) (reply, error) {
	var one generated
	var to any = &one
	var many []generated // one prompt is answered by one object; some gateways make it a list
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) {
		to = &many
	}
	if err := c.decode(http.MethodPost, route, text, to); err != nil {
		return reply{}, err
	}
	if len(many) > 0 {
		one = many[0]
	}
	u := one.Usage
	if route == routeNative {
		u = one.Meta
	} else if one.Choices == nil {
		return reply{}, c.fail(http.MethodPost, route, http.StatusOK, text, errors.New("the answer has no choices"))
	}
	said := []string{one.Text}
	if len(one.Choices) > 0 {
		c := one.Choices[0]
		said = append(contentTexts(c.Message.Content), c.Text)
		said = append([]string{c.Message.Reasoning, c.Message.ReasoningC}, said...)
	}
	said = slices.DeleteFunc(said, func(s string) bool { return s == "" })
	return reply{strings.Join(said, "\n"), tokenCount(u.Completion), tokenCount(u.Prompt),
		tokenCount(cmp.Or(u.Cached, u.Details.Cached))}, nil
}

// tokenCount is -1 for none.
func tokenCount(n *float64) int {
	if n == nil || *n < 0 || *n > 1<<30 {
		return -1
	}
	return int(*n)
}

// contentTexts are the texts of content: a string, or a list of parts, some with a text.
func contentTexts(raw json.RawMessage) []string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return []string{s}
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // what is neither has no text
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return texts
}
