package capture

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goccy/go-json"
)

// request is one generation.
type request struct {
	prompt string
	seed   int
	// maxTokens are generated at most, past an end of sequence with ignoreEOS.
	maxTokens int
	ignoreEOS bool
}

// reply is what a server said to one request. Counts are -1 where it did not say.
type reply struct {
	text string // reasoning included
	// tokens were generated, prompt went in, of which cached needed no computing.
	tokens, prompt, cached int
}

// generator sends requests to one address in the way of a framework.
type generator struct {
	c     *client
	f     Framework
	model string
	// completions is set once chat has failed and completions has not, so that later requests run one request's worth
	// of steps only.
	completions *atomic.Bool
}

// route is the path that is asked first.
func (g *generator) route() string {
	if g.f == FrameworkSGLang {
		return "/generate"
	}
	return "/v1/chat/completions"
}

// generate sends one request. It is called concurrently.
func (g *generator) generate(ctx context.Context, r request, timeout time.Duration) (reply, error) {
	if g.f == FrameworkSGLang {
		return g.native(ctx, r, timeout)
	}
	return g.openAI(ctx, r, timeout)
}

// sglangGenerate is the body of SGLang's /generate.
type sglangGenerate struct {
	Text     string         `json:"text"`
	Sampling sglangSampling `json:"sampling_params"`
	Stream   bool           `json:"stream"`
}

type sglangSampling struct {
	Seed         int  `json:"sampling_seed"`
	Temperature  int  `json:"temperature"`
	MaxNewTokens int  `json:"max_new_tokens"`
	IgnoreEOS    bool `json:"ignore_eos,omitempty"`
}

// native is SGLang's own interface, which counts cached tokens.
func (g *generator) native(ctx context.Context, r request, timeout time.Duration) (reply, error) {
	const path = "/generate"
	got, err := g.c.post(ctx, path, sglangGenerate{Text: r.prompt, Sampling: sglangSampling{Seed: r.seed, MaxNewTokens: r.maxTokens, IgnoreEOS: r.ignoreEOS}}, timeout)
	if err != nil {
		return reply{}, err
	}
	// One prompt is answered by one object; some gateways make it a list.
	type generated struct {
		Text string `json:"text"`
		Meta struct {
			Completion *float64 `json:"completion_tokens"`
			Prompt     *float64 `json:"prompt_tokens"`
			Cached     *float64 `json:"cached_tokens"`
		} `json:"meta_info"`
	}
	var one generated
	if text := bytes.TrimSpace(got.text); len(text) > 0 && text[0] == '[' {
		var many []generated
		if err := g.c.decode(http.MethodPost, path, text, &many); err != nil {
			return reply{}, err
		}
		if len(many) > 0 {
			one = many[0]
		}
	} else if err := g.c.decode(http.MethodPost, path, got.text, &one); err != nil {
		return reply{}, err
	}
	return reply{one.Text, tokenCount(one.Meta.Completion), tokenCount(one.Meta.Prompt), tokenCount(one.Meta.Cached)}, nil
}

// tokenCount is -1 for none.
func tokenCount(n *float64) int {
	if n == nil || *n < 0 || *n > 1<<30 {
		return -1
	}
	return int(*n)
}

type chatRequest struct {
	Model       string        `json:"model"`
	Messages    []chatMessage `json:"messages"`
	MaxTokens   int           `json:"max_tokens"`
	Temperature int           `json:"temperature"`
	Seed        int           `json:"seed"`
	Stream      bool          `json:"stream"`
	IgnoreEOS   bool          `json:"ignore_eos,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type completionRequest struct {
	Model       string `json:"model"`
	Prompt      string `json:"prompt"`
	MaxTokens   int    `json:"max_tokens"`
	Temperature int    `json:"temperature"`
	Seed        int    `json:"seed"`
	Stream      bool   `json:"stream"`
	IgnoreEOS   bool   `json:"ignore_eos,omitempty"`
}

// openAI tries chat, then completions if the server refused chat or answered something that is no answer. Silence is
// not refusal: a server that does not answer chat in time is not asked again.
func (g *generator) openAI(ctx context.Context, r request, timeout time.Duration) (reply, error) {
	ask := func(path string, body any) (reply, error) {
		got, err := g.c.post(ctx, path, body, timeout)
		if err != nil {
			return reply{}, err
		}
		return g.read(path, got.text)
	}
	var chatErr error
	if !g.completions.Load() {
		said, err := ask("/v1/chat/completions", chatRequest{
			Model: g.model, Messages: []chatMessage{{"user", r.prompt}}, MaxTokens: r.maxTokens, Seed: r.seed, IgnoreEOS: r.ignoreEOS,
		})
		if err == nil || ctx.Err() != nil || unreachable(err) {
			return said, err
		}
		chatErr = err
	}
	said, err := ask("/v1/completions", completionRequest{Model: g.model, Prompt: r.prompt, MaxTokens: r.maxTokens, Seed: r.seed, IgnoreEOS: r.ignoreEOS})
	if err != nil {
		return reply{}, join(chatErr, err)
	}
	g.completions.Store(true)
	return said, nil
}

// read reads chat, completion and responses-style answers: content may be a string or a list of parts, and may be
// missing where only reasoning was generated. A null in the token details is "not said", not none.
func (g *generator) read(path string, text []byte) (reply, error) {
	type cached struct {
		Tokens *float64 `json:"cached_tokens"`
	}
	var doc struct {
		Choices []struct {
			Text    string `json:"text"`
			Message struct {
				Content    json.RawMessage `json:"content"`
				Reasoning  string          `json:"reasoning"`
				ReasoningC string          `json:"reasoning_content"`
			} `json:"message"`
		} `json:"choices"`
		OutputText string          `json:"output_text"`
		Output     json.RawMessage `json:"output"`
		Usage      struct {
			Completion    *float64 `json:"completion_tokens"`
			Output        *float64 `json:"output_tokens"`
			Prompt        *float64 `json:"prompt_tokens"`
			Input         *float64 `json:"input_tokens"`
			PromptDetails *cached  `json:"prompt_tokens_details"`
			InputDetails  *cached  `json:"input_tokens_details"`
		} `json:"usage"`
	}
	if err := g.c.decode(http.MethodPost, path, text, &doc); err != nil {
		return reply{}, err
	}
	if doc.Choices == nil && doc.OutputText == "" && doc.Output == nil {
		return reply{}, g.c.fail(http.MethodPost, path, http.StatusOK, text, errors.New("the answer has no choices"))
	}
	u := doc.Usage
	a := reply{tokens: tokenCount(cmp.Or(u.Completion, u.Output)), prompt: tokenCount(cmp.Or(u.Prompt, u.Input)), cached: -1}
	if c := cmp.Or(u.PromptDetails, u.InputDetails); c != nil {
		a.cached = tokenCount(c.Tokens)
	}
	var parts []string
	if len(doc.Choices) > 0 {
		m := doc.Choices[0].Message
		parts = append(parts, m.Reasoning, m.ReasoningC, contentText(m.Content, 0), doc.Choices[0].Text)
	}
	parts = append(parts, doc.OutputText)
	if doc.OutputText == "" {
		parts = append(parts, contentText(doc.Output, 0))
	}
	a.text = joinNonEmpty(parts)
	return a, nil
}

// contentText flattens content: a string, a part {type, text}, an item with content of its own, or a list of these.
// Depth is bounded; what is not text is left out.
func contentText(raw json.RawMessage, depth int) string {
	if len(raw) == 0 || depth > 4 {
		return ""
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) == nil {
			return s
		}
	case '[':
		var list []json.RawMessage
		if json.Unmarshal(raw, &list) == nil {
			var parts []string
			for _, p := range list {
				parts = append(parts, contentText(p, depth+1))
			}
			return joinNonEmpty(parts)
		}
	case '{':
		var part struct {
			Text    json.RawMessage `json:"text"`
			Content json.RawMessage `json:"content"`
		}
		if json.Unmarshal(raw, &part) == nil {
			return joinNonEmpty([]string{contentText(part.Text, depth+1), contentText(part.Content, depth+1)})
		}
	}
	return ""
}

// joinNonEmpty puts the texts that are not empty on lines of their own.
func joinNonEmpty(parts []string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}
