package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// sample has n rows, followed by a nested list and a field.
func sample(n int) []byte {
	var rows []string
	for i := range n {
		rows = append(rows, fmt.Sprintf(`{"name": "<k%d|%s>", "time_ns": %d, "share": 0.25, "sub": [1, 2, 3]}`, i,
			strings.Repeat("x", 40), 1000-i))
	}
	return []byte(`{"schema": "strata.sample/1", "findings": [` + strings.Join(rows, ",") +
		`], "inner": {"value": "a", "from": "b"}, "last": {"list": ["é", null, true]}}`)
}

func cutJSON(t *testing.T, n int, c Cut) (string, map[string]any) {
	t.Helper()
	var b strings.Builder
	if err := WriteShaped(&b, sample(n), c, (*ShapedDocument).JSON); err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal([]byte(b.String()), &doc); err != nil {
		t.Fatalf("%v in %s", err, b.String())
	}
	return b.String(), doc
}

// TestCutsAreTold: a list that is cut says how many rows there are, how many are missing and their time; the sum is
// that of all rows.
func TestCutsAreTold(t *testing.T) {
	_, doc := cutJSON(t, 10, Cut{Limit: 4})
	if n := len(doc["findings"].([]any)); n != 4 {
		t.Errorf("%d rows", n)
	}
	o := doc["truncated"].([]any)[0].(map[string]any)
	if o["at"] != "findings" || o["rows_total"] != 10.0 || o["rows_omitted"] != 6.0 ||
		o["omitted_ns"] != float64(996+995+994+993+992+991) {
		t.Errorf("told: %v", o)
	}
	text, _ := cutJSON(t, 10, Cut{})
	var got, want bytes.Buffer
	if err := errors.Join(json.Compact(&got, []byte(text)), json.Compact(&want, sample(10))); err != nil ||
		got.String() != want.String() {
		t.Errorf("nothing was to be cut: %v, %s", err, text)
	}
	if text, doc := cutJSON(t, 2, Cut{Limit: 3}); doc["truncated"] != nil || strings.Contains(text, `\u003c`) {
		t.Errorf("nothing is missing: %s", text)
	}
}

// TestBudget: whatever the budget, the document is JSON, no longer than that, has its schema, keeps the first rows
// before later fields, and a larger budget keeps at least as many rows.
func TestBudget(t *testing.T) {
	rows := 0
	for budget := 500; budget <= 20000; budget += 250 {
		for _, write := range []func(*strings.Builder) error{
			func(b *strings.Builder) error {
				return WriteShaped(b, sample(100), Cut{Budget: budget}, (*ShapedDocument).JSON)
			},
			func(b *strings.Builder) error {
				return WriteShaped(b, sample(100), Cut{Budget: budget}, (*ShapedDocument).Markdown)
			},
		} {
			var b strings.Builder
			if err := write(&b); err != nil {
				t.Fatal(err)
			}
			if n := utf8.RuneCountInString(b.String()); n > budget {
				t.Errorf("budget %d: %d characters", budget, n)
			}
		}
		_, doc := cutJSON(t, 100, Cut{Budget: budget})
		list, _ := doc["findings"].([]any)
		if doc["schema"] != "strata.sample/1" || len(list) < rows || len(list) < 100 && doc["truncated"] == nil {
			t.Errorf("budget %d: %d rows, before %d; %v", budget, len(list), rows, doc["truncated"])
		}
		rows = len(list)
	}
	if rows != 100 {
		t.Errorf("%d rows with room for all", rows)
	}
	if err := WriteShaped(&strings.Builder{}, sample(1), Cut{Budget: 10}, (*ShapedDocument).JSON); err == nil {
		t.Error("a budget of ten characters is kept")
	}
}

// TestFields: only the named fields stay, and the schema; a name that is none is an error.
func TestFields(t *testing.T) {
	_, doc := cutJSON(t, 3, Cut{Fields: []string{"findings.name", "last"}})
	row := doc["findings"].([]any)[0].(map[string]any)
	if len(doc) != 3 || len(row) != 1 || row["name"] == nil || doc["schema"] == nil {
		t.Errorf("%v", doc)
	}
	for _, bad := range []string{"nothing", "findings.nothing", "schema.x"} {
		if err := WriteShaped(&strings.Builder{}, sample(1), Cut{Fields: []string{bad}},
			(*ShapedDocument).JSON); err == nil || !strings.Contains(err.Error(), bad) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// TestMarkdown: the document is a block of code, which no text in it ends.
func TestMarkdown(t *testing.T) {
	var b strings.Builder
	if err := WriteShaped(&b, []byte("{\"schema\": \"s\", \"a\": \"````\"}"), Cut{Fields: []string{"a"}},
		(*ShapedDocument).Markdown); err != nil {
		t.Fatal(err)
	}
	if want := "`````json\n{\n  \"schema\": \"s\",\n  \"a\": \"````\"\n}\n`````\n"; b.String() != want {
		t.Errorf("got %s, want %s", b.String(), want)
	}
}

// FuzzShape: no input panics, and what was cut is JSON.
func FuzzShape(f *testing.F) {
	f.Add(sample(3), 1, "findings")
	f.Add([]byte(`[[[[`), 0, "")
	f.Fuzz(func(t *testing.T, data []byte, limit int, field string) {
		var b, md strings.Builder
		c := Cut{Limit: limit % 100, Budget: 1000}
		if field != "" {
			c.Fields = []string{field}
		}
		if err := WriteShaped(&b, data, c, (*ShapedDocument).JSON); err == nil && !json.Valid([]byte(b.String())) {
			t.Errorf("no JSON: %s", &b)
		}
		_ = WriteShaped(&md, data, c, (*ShapedDocument).Markdown) // what is no JSON is an error
	})
}
