package command_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/testdata"
)

// TestEveryDocumentIsShaped: each JSON document of each program takes --limit, --fields and --budget, says what it
// leaves out, keeps its schema, and is Markdown with --format md.
func TestEveryDocumentIsShaped(t *testing.T) {
	const row, budget = 1, 8000
	inputs := sameInputs(t)
	shaped := 0
	for _, d := range append([]struct {
		args  string
		heavy bool
	}{
		{"what-if RUN --format json", false}, {"fleet RANKS --format json", false},
	}, documents...) {
		if d.heavy && !testdata.Long() || !strings.HasSuffix(d.args, "--format json") {
			continue
		}
		shaped++
		read := func(more string) (doc map[string]any, text string) {
			line := strings.TrimSuffix(d.args, "--format json") + more
			args := strings.Fields(line)
			for i, a := range args {
				if path, ok := inputs[a]; ok {
					args[i] = path
				}
			}
			r := run(t, "", args...)
			if r.Code == 1 && len(r.Stdout) == 0 || r.Code == 2 {
				t.Errorf("%s: exit code %d: %s", line, r.Code, r.Stderr)
				return nil, ""
			}
			if !strings.Contains(more, "json") {
				return nil, r.Stdout
			}
			if err := json.Unmarshal([]byte(r.Stdout), &doc); err != nil {
				t.Errorf("%s: %v in %.200s", line, err, r.Stdout)
			}
			return doc, r.Stdout
		}
		whole, text := read("--format json")
		limited, _ := read(fmt.Sprintf("--limit %d --format json", row))
		n, longest := rowsOver(limited, row), longestList(whole)
		if n != "" || longest > row && limited["truncated"] == nil {
			t.Errorf("%s --limit %d: %q is longer, or nothing is said of %d rows", d.args, row, n, longest)
		}
		small, short := read(fmt.Sprintf("--budget %d --format json", budget))
		var compact bytes.Buffer // spaces go before rows do
		if err := json.Compact(&compact, []byte(text)); err != nil {
			t.Errorf("%s: %v", d.args, err)
		}
		long := utf8.RuneCount(compact.Bytes()) > budget
		if n := utf8.RuneCountInString(short); n > budget || long && small["truncated"] == nil {
			t.Errorf("%s --budget %d: %d characters, truncated: %v", d.args, budget, n, small["truncated"])
		}
		one := ""
		for name := range whole {
			if name != "schema" && (one == "" || name < one) {
				one = name
			}
		}
		only, _ := read("--fields " + one + " --format json")
		if _, ok := only[one]; !ok || len(only) > 3 || only["schema"] != whole["schema"] || whole["schema"] == nil {
			t.Errorf("%s --fields %s: %d fields, schema %v", d.args, one, len(only), only["schema"])
		}
		if _, text := read("--format md"); text == "" || json.Valid([]byte(text)) {
			t.Errorf("%s: no Markdown: %.80q", d.args, text)
		}
	}
	if shaped < 15 {
		t.Errorf("%d documents", shaped)
	}
}

// rowsOver is where a list of objects has more rows than that, "" for nowhere.
func rowsOver(v any, most int) string {
	switch v := v.(type) {
	case map[string]any:
		for k, kid := range v {
			if k == "truncated" {
				continue
			}
			if at := rowsOver(kid, most); at != "" {
				return k + "/" + at
			}
		}
	case []any:
		if _, rows := first(v).(map[string]any); rows && len(v) > most {
			return "rows"
		}
		for _, kid := range v {
			if at := rowsOver(kid, most); at != "" {
				return at
			}
		}
	}
	return ""
}

func first(list []any) any {
	if len(list) == 0 {
		return nil
	}
	return list[0]
}

// longestList is the number of rows of the longest list of objects at any depth.
func longestList(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, kid := range v {
			n = max(n, longestList(kid))
		}
	case []any:
		if _, rows := first(v).(map[string]any); rows {
			n = len(v)
		}
		for _, kid := range v {
			n = max(n, longestList(kid))
		}
	}
	return n
}
