package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/command"
)

const (
	// answerBudget is the length of an answer in characters. An answer has its text twice: as structure and as text.
	// Both are below 100 kB also if characters take two bytes.
	answerBudget = 24_000
	// analysesAtOnce bounds memory: so many traces are loaded at a time.
	analysesAtOnce = 2
	// mostDocument is the usual server.mostDocument.
	mostDocument = 256 << 20
	// usualRows and mostRows are the rows of an answer with rows.
	usualRows, mostRows = 50, 200
)

// server answers tools.
type server struct {
	root, memory string
	mcp          *mcp.Server
	cache        *cache
	slots        chan struct{}
	mostDocument int // bytes of the largest document that a command may make
}

// newServer returns a server for the files below a directory.
func newServer(root string, cacheBytes int64, memory string) (*server, error) {
	real, err := filepath.EvalSymlinks(root)
	if err == nil {
		real, err = filepath.Abs(real)
	}
	if err != nil {
		return nil, err
	}
	if info, err := os.Stat(real); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is no directory", root)
	}
	// Configs are looked for beside traces only, not in the caches of this machine's user.
	for _, name := range []string{"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"} {
		if err := os.Setenv(name, filepath.Join(real, ".no-cache")); err != nil {
			return nil, err
		}
	}
	s := &server{root: real, memory: memory, cache: newCache(cacheBytes), slots: make(chan struct{}, analysesAtOnce),
		mostDocument: mostDocument}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "strata", Version: "1"}, &mcp.ServerOptions{
		Instructions: "Reads GPU profiler traces of LLM inference. Start with report. Read validity before numbers; what " +
			"is unknown has a reason; at-most is a bound. Texts name flags of the strata program: --kv-len is the argument " +
			"kv_len; flags without an argument are of that program alone."})
	for i := range tools {
		t := &tools[i]
		s.mcp.AddTool(&mcp.Tool{Name: t.name, Description: t.about, InputSchema: json.RawMessage(t.schema()),
			Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
			func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
				return s.call(ctx, req, t), nil
			})
	}
	return s, nil
}

// call answers one call. Whatever is wrong is an error of the tool, which the agent reads.
func (s *server) call(ctx context.Context, req *mcp.CallToolRequest, t *tool) *mcp.CallToolResult {
	text, err := s.answer(ctx, req, t)
	if err != nil {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: s.hide(err.Error())}}}
	}
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}},
		StructuredContent: json.RawMessage(text)}
}

// hide leaves the folders above the root out of a text.
func (s *server) hide(text string) string {
	return strings.ReplaceAll(text, s.root+string(filepath.Separator), "")
}

func (s *server) answer(ctx context.Context, req *mcp.CallToolRequest, t *tool) (string, error) {
	var a arguments
	raw := req.Params.Arguments
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = []byte("{}")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&a); err != nil {
		return "", fmt.Errorf("bad arguments: %w", err)
	}
	if err := t.check(&a); err != nil {
		return "", err
	}
	if t.explain {
		return explain(a.Topic)
	}
	args := append([]string{}, t.command...)
	key := t.name
	for _, f := range t.files(&a) {
		path, err := s.resolve(f.name)
		if err != nil {
			return "", err
		}
		if f.flag != "" {
			args = append(args, f.flag)
		}
		args = append(args, path)
		key += "\x00" + f.flag + version(path)
	}
	args = append(args, t.more(&a)...)
	key += "\x00" + strings.Join(args, "\x00")
	data, err := s.cache.get(ctx, key, func(work context.Context) ([]byte, error) { return s.run(work, req, args) })
	if err != nil {
		return "", err
	}
	if t.rows != nil {
		return page(data, t, &a)
	}
	cut := app.Cut{Budget: answerBudget}
	if a.Fields != "" {
		cut.Fields = strings.Split(a.Fields, ",")
	}
	var b strings.Builder
	if err := app.WriteShaped(&b, data, cut, (*app.ShapedDocument).JSON); err != nil {
		return "", err
	}
	return s.hide(b.String()), nil
}

// version changes with a file, or with what is directly in a directory.
func version(path string) string {
	var b strings.Builder
	add := func(info os.FileInfo) {
		fmt.Fprintf(&b, "%s %d %d;", info.Name(), info.Size(), info.ModTime().UnixNano())
	}
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	add(info)
	if info.IsDir() {
		entries, _ := os.ReadDir(path) // a directory that cannot be read fails later
		for _, e := range entries {
			if i, err := e.Info(); err == nil {
				add(i)
			}
		}
	}
	return b.String()
}

// run makes a document with one of the commands.
func (s *server) run(ctx context.Context, req *mcp.CallToolRequest, args []string) ([]byte, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	args = append(args, "--format", "json", "--progress=true")
	if args[0] != "fleet" && args[0] != "compare" {
		args = append(args, "--memory-limit", s.memory)
	}
	out := &limited{most: s.mostDocument}
	notes := &notes{ctx: ctx, req: req}
	notes.progress(1)
	code := command.Exec(ctx, args, strings.NewReader(""), out, notes)
	const failed, inconclusive = 3, 4 // with these the document is complete
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case out.over:
		return nil, errors.New("the document is too large: ask about one trace")
	case code == 0, (code == failed || code == inconclusive) && out.Len() > 0:
		return out.Bytes(), nil
	}
	return nil, errors.New(notes.last())
}

// limited keeps what is written up to a number of bytes.
type limited struct {
	bytes.Buffer
	most int
	over bool
}

func (l *limited) Write(p []byte) (int, error) {
	if l.over = l.over || l.Len()+len(p) > l.most; l.over {
		return 0, io.ErrShortWrite
	}
	return l.Buffer.Write(p)
}

// percentage is how far a command is, in what it shows on a terminal.
var percentage = regexp.MustCompile(`: (\d+)%`)

// notes reads what a command says beside its document: progress, which is passed on, and the error, which is the last
// line.
type notes struct {
	ctx     context.Context
	req     *mcp.CallToolRequest
	mu      sync.Mutex
	tail    []byte
	reached float64
}

// mostNotes is how much of the notes is kept.
const mostNotes = 4 << 10

func (n *notes) Write(p []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tail = append(n.tail, p...)
	if len(n.tail) > mostNotes {
		n.tail = n.tail[len(n.tail)-mostNotes:]
	}
	if m := percentage.FindSubmatch(p); m != nil {
		if done, err := strconv.ParseFloat(string(m[1]), 64); err == nil {
			n.progress(done)
		}
	}
	return len(p), nil
}

// progress reports the progress in percent to a client that asked, if it is more than before.
func (n *notes) progress(done float64) {
	token := n.req.Params.GetProgressToken()
	if token == nil || n.req.Session == nil || done <= n.reached {
		return
	}
	n.reached = done
	const whole = 100
	// Failing to report progress is no reason to stop.
	_ = n.req.Session.NotifyProgress(n.ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done,
		Total: whole, Message: "reading"})
}

// last is the last line.
func (n *notes) last() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	lines := strings.FieldsFunc(string(n.tail), func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) == 0 {
		return "failed without a reason"
	}
	return strings.TrimPrefix(lines[len(lines)-1], "\x1b[K")
}
