package capture

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
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
	// tokens were generated from prompt tokens; cached of the latter were in the prefix cache.
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
	got, err := g.c.post(ctx, path, sglangGenerate{Text: r.prompt,
		Sampling: sglangSampling{Seed: r.seed, MaxNewTokens: r.maxTokens, IgnoreEOS: r.ignoreEOS}}, timeout)
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
	return reply{one.Text, tokenCount(one.Meta.Completion), tokenCount(one.Meta.Prompt), tokenCount(one.Meta.Cached)},
		nil
}

// tokenCount is -1 for none.
func tokenCount(n *float64) int {
	if n == nil || *n < 0 || *n > 1<<30 {
		return -1
	}
	return int(*n)
}

// openAIRequest is a chat request with messages, a completion with a prompt.
type openAIRequest struct {
	Model       string        `json:"model"`
	Messages    []chatMessage `json:"messages,omitempty"`
	Prompt      string        `json:"prompt,omitempty"`
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

// openAI tries chat, then completions if the server refused chat or answered something that is no answer. Silence is
// not refusal: a server that does not answer chat in time is not asked again.
func (g *generator) openAI(ctx context.Context, r request, timeout time.Duration) (reply, error) {
	body := openAIRequest{Model: g.model, MaxTokens: r.maxTokens, Seed: r.seed, IgnoreEOS: r.ignoreEOS}
	ask := func(path string) (reply, error) {
		got, err := g.c.post(ctx, path, body, timeout)
		if err != nil {
			return reply{}, err
		}
		return g.read(path, got.text)
	}
	var chatErr error
	if !g.completions.Load() {
		body.Messages = []chatMessage{{"user", r.prompt}}
		said, err := ask("/v1/chat/completions")
		if err == nil || ctx.Err() != nil || unreachable(err) {
			return said, err
		}
		chatErr = err
	}
	body.Messages, body.Prompt = nil, r.prompt
	said, err := ask("/v1/completions")
	if err != nil {
		return reply{}, join(chatErr, err)
	}
	g.completions.Store(true)
	return said, nil
}

// read reads chat and completion answers: content may be a string or a list of parts, and may be missing where only
// reasoning was generated. A null in the token details is "not said", not none.
func (g *generator) read(path string, text []byte) (reply, error) {
	var doc struct {
		Choices []struct {
			Text    string `json:"text"`
			Message struct {
				Content    json.RawMessage `json:"content"`
				Reasoning  string          `json:"reasoning"`
				ReasoningC string          `json:"reasoning_content"`
			} `json:"message"`
		} `json:"choices"`
		Usage struct {
			Completion *float64 `json:"completion_tokens"`
			Prompt     *float64 `json:"prompt_tokens"`
			Details    struct {
				Cached *float64 `json:"cached_tokens"`
			} `json:"prompt_tokens_details"`
		} `json:"usage"`
	}
	if err := g.c.decode(http.MethodPost, path, text, &doc); err != nil {
		return reply{}, err
	}
	if doc.Choices == nil {
		return reply{}, g.c.fail(http.MethodPost, path, http.StatusOK, text, errors.New("the answer has no choices"))
	}
	u := doc.Usage
	a := reply{tokens: tokenCount(u.Completion), prompt: tokenCount(u.Prompt), cached: tokenCount(u.Details.Cached)}
	if len(doc.Choices) > 0 {
		c := doc.Choices[0]
		a.text = joinNonEmpty(c.Message.Reasoning, c.Message.ReasoningC, contentText(c.Message.Content), c.Text)
	}
	return a, nil
}

// contentText is the text of content: a string, or a list of parts, some with a text.
func contentText(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var parts []struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(raw, &parts) // what is neither has no text
	var texts []string
	for _, p := range parts {
		texts = append(texts, p.Text)
	}
	return joinNonEmpty(texts...)
}

// joinNonEmpty puts the texts that are not empty on lines of their own.
func joinNonEmpty(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "\n")
}
