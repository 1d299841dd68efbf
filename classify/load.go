package classify

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/internal/wordmatch"
)

// errRules is wrapped by every error about the contents of a rules file.
var errRules = errors.New("classify: invalid rules file")

// maxRulesFile bounds a rules file; ten thousand rules fit.
const maxRulesFile = 8 << 20

// rulesVersion is the version of the rules file format.
const rulesVersion = 1

var comments = regexp.MustCompile(`(?m)^[ \t]*//.*$`)

type fileRule struct {
	ID          string   `json:"id"`
	Title       string   `json:"title,omitempty"`
	Category    Category `json:"category"`
	Label       string   `json:"label,omitempty"`
	Subcategory string   `json:"subcategory,omitempty"`
	Since       string   `json:"since,omitempty"`
	Library     string   `json:"library,omitempty"`
	When        Pattern  `json:"when"`
}

// LoadRules reads a user's rules from JSON:
//
//	{"version": 1, "rules": [
//	  {"id": "acme.router", "category": "moe", "when": {"function": ["acme_router"]}}
//	]}
//
// Lines that begin with // are comments. Unknown fields, missing ids or categories, repeated ids and rules without a
// condition are errors that name the rule by its index and the field.
func LoadRules(r io.Reader) ([]Rule, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxRulesFile+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxRulesFile {
		return nil, fmt.Errorf("%w: larger than %d bytes", errRules, maxRulesFile)
	}
	data = comments.ReplaceAll(data, nil)
	var top struct {
		Version *int              `json:"version"`
		Rules   []json.RawMessage `json:"rules"`
	}
	if err := strict(data, &top); err != nil {
		return nil, fmt.Errorf("%w: %w", errRules, err)
	}
	if top.Version == nil {
		return nil, fmt.Errorf("%w: field \"version\" is missing", errRules)
	}
	if *top.Version != rulesVersion {
		return nil, fmt.Errorf("%w: version %d, this release reads %d", errRules, *top.Version, rulesVersion)
	}
	rules := make([]Rule, 0, len(top.Rules))
	first := map[string]int{}
	for i, raw := range top.Rules {
		var f fileRule
		if err := strict(raw, &f); err != nil {
			return nil, fmt.Errorf("%w: rule %d: %w", errRules, i, err)
		}
		if err := f.check(); err != nil {
			return nil, fmt.Errorf("%w: rule %d%s: %w", errRules, i, quoted(f.ID), err)
		}
		if j, ok := first[f.ID]; ok {
			return nil, fmt.Errorf("%w: rule %d%s: field \"id\" repeats rule %d", errRules, i, quoted(f.ID), j)
		}
		first[f.ID] = i
		rules = append(rules, Rule{
			ID: f.ID, Title: f.Title, Category: f.Category, Label: f.Label,
			Subcategory: f.Subcategory, Since: f.Since, Library: f.Library, When: f.When,
		})
	}
	return rules, nil
}

func strict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("data after the end of the document")
	}
	return nil
}

func quoted(id string) string {
	if id == "" {
		return ""
	}
	return fmt.Sprintf(" (%q)", id)
}

func (f *fileRule) check() error {
	switch {
	case strings.TrimSpace(f.ID) == "":
		return errors.New("field \"id\" is missing")
	case strings.TrimSpace(string(f.Category)) == "":
		return errors.New("field \"category\" is missing")
	case f.When.empty():
		return errors.New("field \"when\" has no condition that can match")
	}
	w := &f.When
	for _, field := range []struct {
		name string
		list []string
	}{
		{"function", w.Function}, {"all", w.All}, {"wrapper", w.Wrapper}, {"scope", w.Scope}, {"name", w.Name},
		{"args", w.Args}, {"none", w.None},
	} {
		for k, s := range field.list {
			if err := checkPattern(s); err != nil {
				return fmt.Errorf("field \"when.%s[%d]\" (%q) %w", field.name, k, s, err)
			}
		}
	}
	for _, field := range []struct {
		name string
		list []string
	}{
		{"exact", w.Exact}, {"prefix", w.Prefix}, {"substring", w.Substring},
	} {
		for k, s := range field.list {
			if s == "" {
				return fmt.Errorf("field \"when.%s[%d]\" is empty", field.name, k)
			}
		}
	}
	return nil
}

// checkPattern reports what is wrong with a word pattern.
func checkPattern(s string) error {
	inner := strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(s), "*"), "*")
	if strings.Contains(inner, "*") {
		return errors.New("has a '*' inside; it is allowed only at the ends")
	}
	if wordmatch.Compile(s).Letters() == 0 {
		return errors.New("has no letter or digit")
	}
	return nil
}
