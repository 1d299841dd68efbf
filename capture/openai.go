package capture

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// openAI is the part the three servers with an OpenAI interface share.
type openAI struct {
	c     *client
	o     Options
	model string
	// completions is set once chat has failed and completions has not, so
	// that later requests run one request's worth of steps only.
	completions bool
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

// generate tries chat, then completions if the server refused chat or answered
// something that is no answer. Silence is not refusal: a server that does not
// answer chat in time is not asked again.
func (d *openAI) generate(ctx context.Context, r request) (Answer, error) {
	var chatErr error
	if !d.completions {
		const path = "/v1/chat/completions"
		text, err := d.c.post(ctx, path, chatRequest{
			Model: d.model, Messages: []chatMessage{{"user", r.prompt}},
			MaxTokens: r.maxTokens, Seed: r.seed, IgnoreEOS: d.o.IgnoreEOS,
		}, d.o.Timeouts.Request)
		if err == nil {
			var a Answer
			if a, err = d.answer(path, text); err == nil {
				return a, nil
			}
		}
		if ctx.Err() != nil || unreachable(err) {
			return Answer{}, err
		}
		chatErr = err
	}
	const path = "/v1/completions"
	text, err := d.c.post(ctx, path, completionRequest{
		Model: d.model, Prompt: r.prompt,
		MaxTokens: r.maxTokens, Seed: r.seed, IgnoreEOS: d.o.IgnoreEOS,
	}, d.o.Timeouts.Request)
	if err == nil {
		var a Answer
		if a, err = d.answer(path, text); err == nil {
			d.completions = true
			return a, nil
		}
	}
	return Answer{}, errors.Join(chatErr, err)
}

// answer reads chat, completion and responses-style answers: content may be a
// string or a list of parts, and may be missing where only reasoning was
// generated.
func (d *openAI) answer(path string, text []byte) (Answer, error) {
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
			Completion *float64 `json:"completion_tokens"`
			Output     *float64 `json:"output_tokens"`
		} `json:"usage"`
		Error json.RawMessage `json:"error"`
	}
	if err := d.c.decode(http.MethodPost, path, text, &doc); err != nil {
		return Answer{}, err
	}
	if doc.Choices == nil && doc.OutputText == "" && doc.Output == nil {
		return Answer{}, &ServerError{Method: http.MethodPost, Server: d.c.base, Endpoint: path, Status: http.StatusOK, Body: excerpt(text), Err: errors.New("the answer has no choices")}
	}
	a := Answer{Tokens: tokenCount(doc.Usage.Completion)}
	if a.Tokens < 0 {
		a.Tokens = tokenCount(doc.Usage.Output)
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
func (d *openAI) models(ctx context.Context, f Framework) (ServerInfo, error) {
	const path = "/v1/models"
	info := ServerInfo{Endpoint: path, Model: d.model}
	text, err := d.c.get(ctx, path)
	if err == nil {
		var doc map[string]any
		if err = d.c.decode(http.MethodGet, path, text, &doc); err == nil {
			info.Document, _ = redact(doc).(map[string]any)
			if id := firstModel(doc); id != "" && d.model == "" {
				info.Model = id
			} else if id == "" {
				err = &ServerError{Method: http.MethodGet, Server: d.c.base, Endpoint: path, Status: http.StatusOK, Body: excerpt(text), Err: errors.New("lists no model")}
			}
		}
	}
	switch {
	case err == nil:
	case d.model != "" && !unreachable(err):
		// The name was given; the list is not needed.
		info.Note = fmt.Sprintf("no model list: %v", err)
	case status(err) != 0:
		return info, withHint(err, "name the model with --model")
	default:
		return info, err
	}
	d.model = info.Model
	// What triage looks for beside a trace.
	doc := map[string]any{"framework": string(f), "model": info.Model}
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
			if id := firstString(m, "id", "root"); id != "" {
				return id
			}
		}
	}
	return ""
}
