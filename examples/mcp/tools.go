package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/examples/internal/command"
	"github.com/llmstrata/strata/layer/finding"
)

// arguments are those of all tools; a tool accepts those of its schema.
type arguments struct {
	File     string   `json:"file"`
	Against  string   `json:"against"`
	Files    []string `json:"files"`
	Config   string   `json:"config"`
	Question string   `json:"question"`
	Fields   string   `json:"fields"`
	Stage    string   `json:"stage"`
	Limit    int      `json:"limit"`
	Cursor   string   `json:"cursor"`
	Tokens   int      `json:"tokens"`
	KVLen    int      `json:"kv_len"`
	GPU      string   `json:"gpu"`
	Topic    string   `json:"topic"`
}

// tool is one tool.
type tool struct {
	name, about string
	// takes are its arguments, those it needs marked by "!".
	takes   []string
	command []string
	// rows is the path to its rows, for tools that answer with rows: names of lists, one in another.
	rows    []string
	explain bool
}

// kinds are the schemas of the arguments.
var kinds = map[string]string{
	"file":     `{"type":"string","description":"trace or directory below the root"}`,
	"against":  `{"type":"string","description":"older trace or directory"}`,
	"files":    `{"type":"array","items":{"type":"string"},"maxItems":16}`,
	"config":   `{"type":"string","description":"the model's config.json"}`,
	"question": `{"type":"string","enum":["slow","regress","host","roofline","fusion","ranks"]}`,
	"fields":   `{"type":"string","description":"fields to keep: findings,host"}`,
	"stage":    `{"type":"string","description":"rows of this stage only"}`,
	"limit":    `{"type":"integer","minimum":1,"maximum":200}`,
	"cursor":   `{"type":"string","description":"next_cursor of the answer before"}`,
	"tokens":   `{"type":"integer","minimum":1}`,
	"kv_len":   `{"type":"integer","minimum":1}`,
	"gpu":      `{"type":"string","description":"the GPU, where the trace does not name it: H100"}`,
	"topic":    `{"type":"string","description":"a kind or cause of a finding, a document, or document.field"}`,
}

var tools = []tool{
	{name: "report", about: "First. Answers why a run is slow: validity, findings by size, passes, host verdict, speed " +
		"of light, next steps.", takes: []string{"!file", "question", "against", "config", "gpu", "tokens", "kv_len",
		"fields"},
		command: []string{"answer"}},
	{name: "passes", about: "Forward passes: stage, tokens, time, idle.",
		takes: []string{"!file", "stage", "limit", "cursor"}, command: []string{"report"}, rows: []string{"passes"}},
	{name: "operators", about: "Operators of the model in one pass of each stage: time, floor, bound.",
		takes: []string{"!file", "config", "gpu", "tokens", "kv_len", "stage", "limit", "cursor"}, command: []string{"report"},
		rows: []string{"operators"}},
	{name: "kernels", about: "Kernels by time, with category, operator and source line.",
		takes: []string{"!file", "stage", "limit", "cursor"}, command: []string{"triage", "--min-share", "0"},
		rows: []string{"stages", "kernels"}},
	{name: "floor", about: "What each pass and operator should take on this GPU.",
		takes: []string{"!file", "config", "gpu", "tokens", "kv_len", "fields"}, command: []string{"light"}},
	{name: "host", about: "Is the CPU the bottleneck, and what does it do?", takes: []string{"!file", "fields"},
		command: []string{"host"}},
	{name: "compare", about: "What changed between two runs, beyond noise.",
		takes: []string{"!file", "!against", "config", "fields"}, command: []string{"compare"}},
	{name: "fleet", about: "Ranks of a run: who waits for whom, what is missing.", takes: []string{"!files", "fields"},
		command: []string{"fleet"}},
	{name: "explain", about: "What a kind, cause, document or field means.", takes: []string{"topic"}, explain: true},
}

// schema is the tool's input schema.
func (t *tool) schema() string {
	var fields, needed []string
	for _, a := range t.takes {
		name, must := strings.CutPrefix(a, "!")
		fields = append(fields, strconv.Quote(name)+":"+kinds[name])
		if must {
			needed = append(needed, strconv.Quote(name))
		}
	}
	out := `{"type":"object","additionalProperties":false,"properties":{` + strings.Join(fields, ",") + `}`
	if len(needed) > 0 {
		out += `,"required":[` + strings.Join(needed, ",") + `]`
	}
	return out + "}"
}

// given are the arguments that were given.
func (a *arguments) given() map[string]bool {
	return map[string]bool{"file": a.File != "", "against": a.Against != "", "files": len(a.Files) > 0,
		"config": a.Config != "", "question": a.Question != "", "fields": a.Fields != "",
		"stage": a.Stage != "", "limit": a.Limit != 0, "cursor": a.Cursor != "", "tokens": a.Tokens != 0,
		"kv_len": a.KVLen != 0, "gpu": a.GPU != "", "topic": a.Topic != ""}
}

// check refuses arguments that the tool does not have, or that are out of range.
func (t *tool) check(a *arguments) error {
	given := a.given()
	var names []string
	for _, n := range t.takes {
		name, must := strings.CutPrefix(n, "!")
		names = append(names, name)
		if must && !given[name] {
			return fmt.Errorf("%s: the argument %q is missing", t.name, name)
		}
	}
	for name, is := range given {
		if is && !slices.Contains(names, name) {
			return fmt.Errorf("%s: no argument %q (want %s)", t.name, name, strings.Join(names, ", "))
		}
	}
	const mostFileNames = 16
	if err := new(finding.Stage).UnmarshalText([]byte(a.Stage)); a.Stage != "" && err != nil {
		return err
	}
	switch {
	case a.Limit < 0 || a.Limit > mostRows:
		return fmt.Errorf("limit %d: want 1 to %d", a.Limit, mostRows)
	case a.Tokens < 0 || a.KVLen < 0:
		return errors.New("tokens and kv_len have to be positive")
	case len(a.Files) > mostFileNames:
		return fmt.Errorf("%d files: want at most %d, or a directory", len(a.Files), mostFileNames)
	case a.Question != "" && !strings.Contains(kinds["question"], strconv.Quote(a.Question)):
		return fmt.Errorf("question %q: want one of slow, regress, host, roofline, fusion, ranks", a.Question)
	}
	return nil
}

// named is a file of a command line.
type named struct{ flag, name string }

// files are the files that the tool reads.
func (t *tool) files(a *arguments) (out []named) {
	config := func(flag string) {
		if a.Config != "" {
			out = append(out, named{flag, a.Config})
		}
	}
	switch t.command[0] {
	case "compare":
		out = []named{{"--a", a.Against}, {"--b", a.File}}
		config("--a-config") // which side B has, too
		return out
	case "fleet":
		for _, f := range a.Files {
			out = append(out, named{"", f})
		}
		return out
	}
	out = []named{{"", a.File}}
	if a.Against != "" {
		out = append(out, named{"--against", a.Against})
	}
	config("--config")
	return out
}

// more are the other flags.
func (t *tool) more(a *arguments) (out []string) {
	if a.Question != "" {
		out = append(out, "--question", a.Question)
	}
	if a.Tokens > 0 {
		out = append(out, "--tokens", strconv.Itoa(a.Tokens))
	}
	if a.KVLen > 0 {
		out = append(out, "--kv-len", strconv.Itoa(a.KVLen))
	}
	if a.GPU != "" {
		out = append(out, "--gpu="+a.GPU)
	}
	return out
}

// rowsAnswer is an answer with rows.
type rowsAnswer struct {
	Rows    []json.RawMessage `json:"rows"`
	Total   int               `json:"rows_total"`
	Omitted int               `json:"rows_omitted"`
	Next    string            `json:"next_cursor,omitempty"`
}

// page takes some rows of a document, from the place that the cursor says.
func page(data []byte, t *tool, a *arguments) (string, error) {
	rows, err := rowsOf(data, t.rows, a.Stage)
	if err != nil {
		return "", err
	}
	from := 0
	if a.Cursor != "" {
		if from, err = strconv.Atoi(a.Cursor); err != nil || from < 0 || from > len(rows) {
			return "", fmt.Errorf("cursor %q: it is not of this answer", a.Cursor)
		}
	}
	n := usualRows
	if a.Limit > 0 {
		n = a.Limit
	}
	out := rowsAnswer{Rows: []json.RawMessage{}, Total: len(rows)}
	size := 0
	for _, r := range rows[from:] {
		if size += len(r); len(out.Rows) == n || size > answerBudget && len(out.Rows) > 0 {
			break
		}
		out.Rows = append(out.Rows, r)
	}
	out.Omitted = out.Total - len(out.Rows)
	if end := from + len(out.Rows); end < len(rows) {
		out.Next = strconv.Itoa(end)
	}
	text, err := json.Marshal(out)
	return string(text), err
}

// rowsOf returns the rows at a path, each with the stage that it is of.
func rowsOf(data []byte, path []string, stage string) ([]json.RawMessage, error) {
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, err
	}
	var list []map[string]json.RawMessage
	if err := json.Unmarshal(doc[path[0]], &list); err != nil {
		return nil, err
	}
	if len(path) > 1 {
		var below []map[string]json.RawMessage
		for _, outer := range list {
			var inner []map[string]json.RawMessage
			if err := json.Unmarshal(outer[path[1]], &inner); err != nil {
				return nil, err
			}
			for _, r := range inner {
				r["stage"] = outer["pass_stage"]
				below = append(below, r)
			}
		}
		list = below
	}
	var out []json.RawMessage
	for _, r := range list {
		var of string
		if json.Unmarshal(r["stage"], &of) == nil && stage != "" && of != stage {
			continue
		}
		row, err := json.Marshal(r)
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	return out, nil
}

// explain says what a word of the answers means.
func explain(topic string) (string, error) {
	words := map[string]string{}
	for _, k := range finding.Kinds() {
		words[k.String()] = k.Info().Title + ": " + k.Info().Help + " " + k.Info().Advice.Do
	}
	for _, c := range finding.Causes() {
		words[c.String()] = c.Info().Title + ": " + c.Info().Help + " " + c.Info().Advice.Do
	}
	for _, s := range finding.Stages() {
		words[s.String()] = s.Info().Title + ": " + s.Info().Help
	}
	var text string
	doc, field, _ := strings.Cut(topic, ".")
	switch s := command.FindSchema(doc); {
	case topic == "":
		var names []string
		for w := range words {
			names = append(names, w)
		}
		sort.Strings(names)
		for _, s := range command.DocumentSchemas() {
			names = append(names, s.ID())
		}
		text = "topics: " + strings.Join(names, ", ")
	case words[topic] != "":
		text = words[topic]
	case s != nil && field == "":
		text = s.ID() + ": " + s.Description
		fields, err := describe(s.Text, "")
		if err != nil {
			return "", err
		}
		text += "\n" + fields
	case s != nil:
		var err error
		if text, err = describe(s.Text, field); err != nil {
			return "", err
		}
		if text == "" {
			return "", fmt.Errorf("%s has no field %q", s.ID(), field)
		}
	default:
		return "", fmt.Errorf("nothing is known of %q: call explain without a topic for the list", topic)
	}
	const most = answerBudget
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	out, err := json.Marshal(map[string]string{"topic": topic, "text": strings.TrimSpace(text)})
	return string(out), err
}

// describe lists the fields of a document of that name, with what is said of them; "" for those at its top.
func describe(text []byte, field string) (string, error) {
	var doc struct {
		Ref   string `json:"$ref"`
		AnyOf []struct {
			Ref string `json:"$ref"`
		} `json:"anyOf"`
		Defs map[string]struct {
			Properties map[string]struct {
				Description string `json:"description"`
				Unit        string `json:"x-unit"`
			} `json:"properties"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return "", err
	}
	if len(doc.AnyOf) > 0 {
		doc.Ref = doc.AnyOf[0].Ref
	}
	top := strings.TrimPrefix(doc.Ref, "#/$defs/")
	var lines []string
	for def, d := range doc.Defs {
		for name, p := range d.Properties {
			if field == "" && def != top || field != "" && name != field {
				continue
			}
			line := def + "." + name + ": " + p.Description
			if p.Unit != "" {
				line += " [" + p.Unit + "]"
			}
			lines = append(lines, line)
		}
	}
	sort.Strings(lines)
	return strings.Join(lines, "\n"), nil
}
