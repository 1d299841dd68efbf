package command

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/testdata"
)

// injections are what a trace may hold to act where its names are shown.
var injections = []string{
	"\x1b]0;title\x07", "\x1b[2J\x1b[31mRED", "\u009b2J", "\u202eABC", "\u2028", "\x7f\b\b\b",
	"|a|b|", "`` ` ``", "[text](javascript:alert(1))", "![x](http://h/p.png)", "<script>alert(1)</script>",
	"<img src=x onerror=alert(1)>",
	`"><svg onload=alert(1)>`, "=HYPERLINK(\"http://h\")", "]]>", "&amp;", `","b":"`, "\r\nHTTP", "{{.}}", "${x}",
}

// hostile is the demo trace with this text after every name that a program may show.
func hostile(t *testing.T, behind string) string {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(testdata.Unpacked(t, demo.Trace()), &doc); err != nil {
		t.Fatal(err)
	}
	for _, e := range doc["traceEvents"].([]any) {
		e := e.(map[string]any)
		if name, ok := e["name"].(string); ok && e["ph"] != "M" {
			e["name"] = name + behind
		}
		if args, ok := e["args"].(map[string]any); ok {
			for k, v := range args {
				if s, ok := v.(string); ok {
					args[k] = s + behind
				}
			}
		}
	}
	for _, p := range doc["deviceProperties"].([]any) {
		p.(map[string]any)["name"] = fmt.Sprint(p.(map[string]any)["name"]) + behind
	}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "run\x1b[31m<b>.json")
	if err := os.WriteFile(path, text, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// acts returns a character of a text that could act on a terminal, 0 for none.
func acts(text string) rune {
	if !utf8.ValidString(text) {
		return utf8.RuneError
	}
	for _, r := range text {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u202e' || r == '\u2028') {
			return r
		}
	}
	return 0
}

// TestNothingOfATraceActs: every command in every form, on the terminal and in
// pages, over texts that mean something to a terminal, Markdown, CSV, HTML, XML
// or JSON.
func TestNothingOfATraceActs(t *testing.T) {
	path := hostile(t, strings.Join(injections, " "))
	tried := 0
	for _, c := range commands() {
		p, _ := c.program(nil)
		args := []string{c.name, path}
		switch c.name {
		case "capture", "bundle": // read no trace
			continue
		case "compare":
			args = append(args, path)
		case "host-compare":
			args = []string{c.name, "--trace", path}
		}
		forms := slices.Concat(p.Formats, []app.Format{app.JUnit, app.SARIF, app.Prometheus, app.HTML})
		for _, format := range forms {
			run := append(slices.Clone(args), "--format", string(format))
			if slices.Contains(forms[len(p.Formats):], format) && !slices.Contains(p.Formats, format) {
				if len(p.FailOn) == 0 || format == app.HTML || c.name != "report" && !testdata.Long() {
					continue // one writer for all commands
				}
				run = append(run, "--fail-on", p.FailOn[0]+" 1%")
			}
			tried++
			var stdout, stderr bytes.Buffer
			Exec(t.Context(), run, strings.NewReader(""), &stdout, &stderr)
			name := strings.Join(append([]string{c.name}, run[len(args):]...), " ")
			if stdout.Len()+stderr.Len() == 0 {
				t.Errorf("%s prints nothing", name)
			}
			if r := acts(stdout.String()); r != 0 {
				t.Errorf("%s prints %U", name, r)
			}
			if r := acts(stderr.String()); r != 0 {
				t.Errorf("%s prints %U on stderr: %q", name, r, stderr.String())
			}
			readable(t, name, format, stdout.Bytes())
		}
		if p.FlagSet().Lookup("html") != nil && c.name != "light" { // the name of this GPU says nothing any more
			page := filepath.Join(t.TempDir(), "page.html")
			Exec(t.Context(), append(slices.Clone(args), "--html", page), strings.NewReader(""), io.Discard, io.Discard)
			text, err := os.ReadFile(page)
			if err != nil {
				t.Errorf("%s --html: %v", c.name, err)
			}
			if r := acts(string(text)); r != 0 {
				t.Errorf("%s --html holds %U", c.name, r)
			}
			readable(t, c.name+" --html", app.HTML, text)
		}
	}
	if tried < 25 {
		t.Errorf("%d forms were tried", tried)
	}
}

// readable checks that a document is still one, and that no markup of the trace is markup in it.
func readable(t *testing.T, name string, format app.Format, text []byte) {
	t.Helper()
	var err error
	switch format {
	case app.JSON, app.SARIF:
		if len(text) > 0 && !json.Valid(text) {
			err = fmt.Errorf("is no JSON")
		}
	case app.NDJSON:
		for line := range bytes.Lines(text) {
			if !json.Valid(line) {
				err = fmt.Errorf("has a line that is no JSON: %.60q", line)
			}
		}
	case app.JUnit:
		d := xml.NewDecoder(bytes.NewReader(text))
		for err == nil {
			_, err = d.Token()
		}
		if err == io.EOF {
			err = nil
		}
	case app.HTML, app.Markdown:
		for _, tag := range []string{"<script>alert(1)", "<img src=x", "<svg onload"} {
			if bytes.Contains(text, []byte(tag)) && !insideCode(text, tag) {
				err = fmt.Errorf("holds %s", tag)
			}
		}
	}
	if err != nil {
		t.Errorf("%s: %v", name, err)
	}
}

// insideCode reports whether a tag is only in code spans of Markdown, where it is no markup.
func insideCode(text []byte, tag string) bool {
	for line := range bytes.Lines(text) {
		if at := bytes.Index(line, []byte(tag)); at >= 0 && bytes.Count(line[:at], []byte("`")) == 0 {
			return false
		}
	}
	return true
}
