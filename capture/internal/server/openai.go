package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
)

// openAI is the part the three servers with an OpenAI interface share.
type openAI struct {
	c     *Client
	o     Options
	model string
	// completions is set once chat has failed and completions has not, so
	// that later requests run one request's worth of steps only.
	completions atomic.Bool
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

// Generate tries chat, then completions if the server refused chat or answered
// something that is no answer. Silence is not refusal: a server that does not
// Answer chat in time is not asked again.
func (d *openAI) Generate(ctx context.Context, r Request) (Reply, error) {
	var chatErr error
	if !d.completions.Load() {
		const path = "/v1/chat/completions"
		got, err := d.c.Post(ctx, path, chatRequest{
			Model: d.model, Messages: []chatMessage{{"user", r.Prompt}},
			MaxTokens: r.MaxTokens, Seed: r.Seed, IgnoreEOS: r.IgnoreEOS,
		}, d.o.RequestTimeout)
		if err == nil {
			var said Reply
			if said, err = d.read(path, got.Text); err == nil {
				return said, nil
			}
		}
		if ctx.Err() != nil || Unreachable(err) {
			return Reply{}, err
		}
		chatErr = err
	}
	const path = "/v1/completions"
	got, err := d.c.Post(ctx, path, completionRequest{
		Model: d.model, Prompt: r.Prompt,
		MaxTokens: r.MaxTokens, Seed: r.Seed, IgnoreEOS: r.IgnoreEOS,
	}, d.o.RequestTimeout)
	if err == nil {
		var said Reply
		if said, err = d.read(path, got.Text); err == nil {
			d.completions.Store(true)
			return said, nil
		}
	}
	return Reply{}, errors.Join(chatErr, err)
}

// read reads chat, completion and responses-style answers: content may be a
// string or a list of parts, and may be missing where only reasoning was
// generated. A null in the token details is "not said", not none.
func (d *openAI) read(path string, text []byte) (Reply, error) {
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
	if err := d.c.decode(http.MethodPost, path, text, &doc); err != nil {
		return Reply{}, err
	}
	if doc.Choices == nil && doc.OutputText == "" && doc.Output == nil {
		return Reply{}, d.c.Fail(http.MethodPost, path, http.StatusOK, text, errors.New("the answer has no choices"))
	}
	u := doc.Usage
	a := Reply{Tokens: tokenCount(cmp.Or(u.Completion, u.Output)), Prompt: tokenCount(cmp.Or(u.Prompt, u.Input)), Cached: -1}
	if c := cmp.Or(u.PromptDetails, u.InputDetails); c != nil {
		a.Cached = tokenCount(c.Tokens)
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
	a.Text = joinNonEmpty(parts)
	return a, nil
}

// contentText flattens content: a string, a part {type, text}, an item with
// content of its own, or a list of these. Depth is bounded; what is not text
// is left out.
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

// models asks /v1/models, and settles the model's name.
func (d *openAI) models(ctx context.Context, k Kind) (Info, error) {
	const path = "/v1/models"
	info := Info{Endpoint: path, Model: d.model}
	text, err := d.c.Get(ctx, path)
	if err == nil {
		var doc map[string]any
		if err = d.c.decode(http.MethodGet, path, text, &doc); err == nil {
			info.Document = d.c.Redact(doc)
			if id := firstModel(doc); id != "" && d.model == "" {
				info.Model = id
			} else if id == "" {
				err = d.c.Fail(http.MethodGet, path, http.StatusOK, text, errors.New("lists no model"))
			}
		}
	}
	switch {
	case err == nil:
	case d.model != "" && !Unreachable(err) && !Unauthorized(err):
		// The name was given; the list is not needed.
		info.Note = fmt.Sprintf("no model list: %v", err)
	case Unreachable(err), Unauthorized(err):
		return info, err
	case Status(err) != 0:
		return info, WithHint(err, "name the model with --model")
	default:
		return info, err
	}
	d.model = info.Model
	// What triage looks for beside a trace.
	doc := map[string]any{"framework": string(k), "model": info.Model}
	for k, v := range info.Document {
		if _, taken := doc[k]; !taken {
			doc[k] = v
		}
	}
	info.Document = doc
	return info, nil
}

// firstModel is the id of the first entry of data.
func firstModel(doc map[string]any) string {
	list, _ := doc["data"].([]any)
	for _, e := range list {
		if m, ok := e.(map[string]any); ok {
			if id := FirstString(m, "id", "root"); id != "" {
				return id
			}
		}
	}
	return ""
}
