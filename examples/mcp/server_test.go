package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/llmstrata/strata/internal/testdata"
)

const mostAnswer = 100_000

// files fills a root directory: a trace each of two servers, and one of another place that a link leads to.
func files(t *testing.T) (root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "root")
	for name, shared := range map[string]string{"decode.json.gz": "traces/torch/sglang-qwen3-8b-decode-graph-mi300.json.gz", "vllm/mixed.json.gz": "traces/torch/vllm-gptoss20b-mixed-piecewise-mi300.json.gz",
		"ranks/1-TP-0.trace.json.gz": "traces/torch/train-pair-rank-0.json.gz",
		"ranks/1-TP-1.trace.json.gz": "traces/torch/train-pair-rank-1.json.gz",
		"config.json":                "configs/qwen3-8b.json",
		"../secret/x.json.gz":        "traces/torch/hf-bert-small-eager-h100.json.gz"} {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, testdata.ReadFile(t, testdata.Shared(t, shared)), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// connect starts a server and the SDK's own client.
func connect(t *testing.T, root string, cacheBytes int64, o *mcp.ClientOptions) (*server, *mcp.ClientSession) {
	t.Helper()
	s, err := newServer(root, cacheBytes, "2GB")
	if err != nil {
		t.Fatal(err)
	}
	here, there := mcp.NewInMemoryTransports()
	ss, err := s.mcp.Connect(t.Context(), there, nil)
	if err != nil {
		t.Fatal(err)
	}
	cs, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o).Connect(t.Context(), here, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cs.Close()
		ss.Wait()
	})
	return s, cs
}

type args map[string]any

// call asks a tool and returns its text and whether it is an error.
func call(t *testing.T, cs *mcp.ClientSession, name string, a args) (string, bool) {
	t.Helper()
	r, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: a})
	if err != nil {
		t.Fatalf("%s %v: %v", name, a, err)
	}
	whole, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if len(whole) > mostAnswer {
		t.Errorf("%s %v: an answer of %d bytes", name, a, len(whole))
	}
	text := r.Content[0].(*mcp.TextContent).Text
	if !r.IsError && (r.StructuredContent == nil || !json.Valid([]byte(text))) {
		t.Errorf("%s %v: no structure: %.200s", name, a, text)
	}
	return text, r.IsError
}

// TestToolsList: all tools are listed in at most 6 kB, none of them changes anything.
func TestToolsList(t *testing.T) {
	_, cs := connect(t, t.TempDir(), defaultCache, nil)
	list, err := cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if !tool.Annotations.ReadOnlyHint || tool.Description == "" {
			t.Errorf("%+v", tool)
		}
	}
	const want = "compare explain fleet floor host kernels operators passes report"
	if got := strings.Join(names, " "); got != want || len(text) > 6000 {
		t.Errorf("%s in %d bytes, want %s in 6000", got, len(text), want)
	}
	t.Logf("tools/list: %d bytes", len(text))
}

// TestEveryTool drives every tool on real traces.
func TestEveryTool(t *testing.T) {
	_, cs := connect(t, files(t), defaultCache, nil)
	for _, c := range []struct {
		tool string
		args args
		want string
	}{
		{"report", args{"file": "decode.json.gz"}, `"conclusion":"found"`},
		{"report", args{"file": "decode.json.gz", "question": "host", "fields": "conclusion,host"}, `"host"`},
		{"report", args{"file": "decode.json.gz", "question": "regress", "against": "decode.json.gz"}, `"compared"`},
		{"report", args{"file": "vllm"}, `"strata.answer/1"`},
		{"passes", args{"file": "decode.json.gz"}, `"rows_total"`},
		{"operators", args{"file": "decode.json.gz"}, `"operator"`},
		{"kernels", args{"file": "decode.json.gz", "limit": 3}, `"next_cursor":"3"`},
		{"floor", args{"file": "decode.json.gz"}, `"strata.light/2"`},
		{"host", args{"file": "decode.json.gz"}, `"verdict"`},
		{"compare", args{"file": "vllm/mixed.json.gz", "against": "decode.json.gz"}, `"not-comparable"`},
		{"compare", args{"file": "decode.json.gz", "against": "decode.json.gz", "config": "config.json"}, `"verdict"`},
		{"fleet", args{"files": []string{"ranks"}}, `"schema"`},
		{"explain", args{"topic": "host-idle"}, "Idle GPU"},
		{"explain", args{"topic": "report.findings"}, "Findings"},
		{"explain", args{}, "exposed-communication"},
	} {
		text, failed := call(t, cs, c.tool, c.args)
		if failed || !strings.Contains(text, c.want) {
			t.Errorf("%s %v: error %v, no %s in %.300s", c.tool, c.args, failed, c.want, text)
		}
	}
}

// TestCursors: pages of kernels hold each row once, in the order of one large page.
func TestCursors(t *testing.T) {
	_, cs := connect(t, files(t), defaultCache, nil)
	read := func(a args) (out rowsAnswer) {
		text, failed := call(t, cs, "kernels", a)
		if err := json.Unmarshal([]byte(text), &out); err != nil || failed {
			t.Fatalf("%v %s", err, text)
		}
		return out
	}
	var rows []string
	cursor := ""
	for range 1000 {
		a := args{"file": "decode.json.gz", "limit": 4}
		if cursor != "" {
			a["cursor"] = cursor
		}
		p := read(a)
		if p.Omitted != p.Total-len(p.Rows) {
			t.Errorf("%d rows, %d in all, %d omitted", len(p.Rows), p.Total, p.Omitted)
		}
		for _, r := range p.Rows {
			rows = append(rows, string(r))
		}
		if cursor = p.Next; cursor == "" {
			break
		}
	}
	all := read(args{"file": "decode.json.gz", "limit": mostRows})
	if len(rows) != all.Total {
		t.Errorf("%d rows by pages, want %d", len(rows), all.Total)
	}
	for i, r := range all.Rows {
		if rows[i] != string(r) {
			t.Errorf("row %d differs", i)
		}
	}
}

// TestWhatIsRefused: files outside of the root, by whatever way, and bad arguments are errors of the tool. No error
// shows text of a file outside or a folder above the root.
func TestWhatIsRefused(t *testing.T) {
	root := files(t)
	outside := filepath.Join(root, "..", "secret")
	if err := os.Mkdir(filepath.Join(root, "beside"), 0o777); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link.json.gz": filepath.Join(outside, "x.json.gz"), "dir": outside,
		"beside/config.json": filepath.Join(outside, "x.json.gz")} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "beside", "run.json"), []byte(`{"traceEvents": []}`),
		0o666); err != nil {
		t.Fatal(err)
	}
	// The root itself has links that lead outside now: its own files are in a folder.
	if err := os.Mkdir(filepath.Join(root, "good"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(root, "decode.json.gz"),
		filepath.Join(root, "good", "decode.json.gz")); err != nil {
		t.Fatal(err)
	}
	_, cs := connect(t, root, defaultCache, nil)
	for _, c := range []struct {
		tool string
		args args
	}{
		{"report", args{"file": "../secret/x.json.gz"}}, {"report", args{"file": filepath.Join(outside, "x.json.gz")}},
		{"report", args{"file": "link.json.gz"}}, {"report", args{"file": "dir"}},
		{"report", args{"file": "dir/x.json.gz"}}, {"report", args{"file": "."}},
		{"report", args{"file": "beside/run.json"}}, {"report", args{"file": "good/../../secret/x.json.gz"}},
		{"report", args{"file": "good/decode.json.gz", "config": "link.json.gz"}},
		{"compare", args{"file": "good/decode.json.gz", "against": "/etc/passwd"}},
		{"fleet", args{"files": []string{"dir"}}},
		{"report", args{}}, {"report", args{"file": "absent.json"}}, {"report", args{"file": "*"}},
		{"report", args{"file": "--html=x"}}, {"report", args{"file": 3}},
		{"report", args{"file": "good/decode.json.gz", "quiz": 1}},
		{"report", args{"file": "good/decode.json.gz", "question": "why"}},
		{"report", args{"file": "good/decode.json.gz", "fields": "nothing"}},
		{"kernels", args{"file": "good/decode.json.gz", "limit": 100000}},
		{"kernels", args{"file": "good/decode.json.gz", "cursor": "-1"}},
		{"kernels", args{"file": "good/decode.json.gz", "cursor": "x"}},
		{"passes", args{"file": "good/decode.json.gz", "stage": "decoding"}},
		{"floor", args{"file": "good/decode.json.gz", "tokens": -1}}, {"explain", args{"topic": "nothing"}},
	} {
		text, failed := call(t, cs, c.tool, c.args)
		if !failed || text == "" || strings.Contains(text, filepath.Dir(root)) &&
			!strings.Contains(fmt.Sprint(c.args), filepath.Dir(root)) {
			t.Errorf("%s %v: error %v: %.200s", c.tool, c.args, failed, text)
		}
	}
	if text, failed := call(t, cs, "report", args{"file": "good/decode.json.gz"}); failed {
		t.Errorf("a good file is refused: %s", text)
	}
	if entries, err := os.ReadDir(root); err != nil || len(entries) != 7 {
		t.Errorf("the root has %d entries now (%v): something was written", len(entries), err)
	}
}

// TestOversize: a document above the bound is an error of the tool that says what to do, and the server goes on.
func TestOversize(t *testing.T) {
	s, cs := connect(t, files(t), defaultCache, nil)
	s.mostDocument = 1000
	text, failed := call(t, cs, "report", args{"file": "decode.json.gz"})
	if !failed || !strings.Contains(text, "too large: ask about one trace") {
		t.Errorf("error %v: %.200s", failed, text)
	}
	s.mostDocument = mostDocument
	if text, failed := call(t, cs, "report", args{"file": "decode.json.gz"}); failed {
		t.Errorf("the next call: %s", text)
	}
}

// TestParallelCalls: a hundred calls at once are all answered, and the server keeps no more than its bound.
func TestParallelCalls(t *testing.T) {
	const bound = 3 << 20
	s, cs := connect(t, files(t), bound, nil)
	var wg sync.WaitGroup
	var wrong atomic.Int64
	for i := range 100 {
		wg.Go(func() {
			name := []string{"report", "kernels", "host", "passes"}[i%4]
			file := []string{"decode.json.gz", "vllm/mixed.json.gz"}[i/4%2]
			r, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: args{"file": file}})
			if err != nil || r.IsError || s.cache.bytes() > bound {
				wrong.Add(1)
			}
		})
	}
	wg.Wait()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	t.Logf("%d bytes kept of %d, heap %d MB", s.cache.bytes(), bound, m.HeapAlloc>>20)
	const mostHeap = 64 << 20 // what is kept, the tables of the program, and its tests
	if n := wrong.Load(); n > 0 || s.cache.bytes() > bound || m.HeapAlloc > mostHeap {
		t.Errorf("%d calls failed, %d bytes kept of %d, heap %d", n, s.cache.bytes(), bound, m.HeapAlloc)
	}
}

// TestCancel: a call that is given up ends soon, others go on, and the same question is answered afterwards.
func TestCancel(t *testing.T) {
	s, cs := connect(t, files(t), defaultCache, nil)
	for range analysesAtOnce { // no analysis can begin
		s.slots <- struct{}{}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	before := time.Now()
	if _, err := cs.CallTool(ctx, &mcp.CallToolParams{Name: "report",
		Arguments: args{"file": "decode.json.gz"}}); err == nil {
		t.Error("a call that waits for ever has an answer")
	}
	if d := time.Since(before); d > 5*time.Second {
		t.Errorf("it ended after %s", d)
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		s.cache.mu.Lock()
		n := len(s.cache.running)
		s.cache.mu.Unlock()
		if n == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the analysis goes on")
		}
	}
	for range analysesAtOnce {
		<-s.slots
	}
	if text, failed := call(t, cs, "report", args{"file": "decode.json.gz"}); failed {
		t.Errorf("afterwards: %s", text)
	}
}

// TestProgress: a client that asks gets the progress of a long load.
func TestProgress(t *testing.T) {
	var told atomic.Int64
	_, cs := connect(t, files(t), defaultCache, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context,
		r *mcp.ProgressNotificationClientRequest) {
		if r.Params.Progress > 0 && r.Params.Progress <= r.Params.Total {
			told.Add(1)
		}
	}})
	p := &mcp.CallToolParams{Name: "report", Arguments: args{"file": "vllm/mixed.json.gz"}}
	p.SetProgressToken("x")
	if r, err := cs.CallTool(t.Context(), p); err != nil || r.IsError {
		t.Fatalf("%v %+v", err, r)
	}
	for deadline := time.Now().Add(5 * time.Second); told.Load() == 0 &&
		time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	}
	if told.Load() == 0 {
		t.Error("no progress was told")
	}
}

// TestCache: what was used least recently goes first, and what is larger than the cache is not kept.
func TestCache(t *testing.T) {
	c := newCache(10)
	made := 0
	get := func(key string, n int) {
		if _, err := c.get(t.Context(), key, func(context.Context) ([]byte, error) {
			made++
			return make([]byte, n),
				nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	get("a", 4)
	get("b", 4)
	get("a", 4)
	get("c", 4) // b goes
	get("a", 4)
	if made != 3 || c.bytes() != 8 {
		t.Errorf("%d made, %d bytes", made, c.bytes())
	}
	get("b", 4)
	get("large", 11)
	get("large", 11)
	if made != 6 || c.bytes() > 10 {
		t.Errorf("%d made, %d bytes", made, c.bytes())
	}
}
