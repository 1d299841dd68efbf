package gate_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// The schemas' files are not in the repository. This is what they demand of the elements that are written: for
// JUnit as in the schema of Jenkins' xUnit plugin (junit-10), for SARIF as in the OASIS schema 2.1.0.

// element is what a schema says of an XML element: whatever is not named is refused.
type element struct {
	required, optional []string // attributes
	children           []string
	text               bool
}

var junitSchema = map[string]element{
	"testsuites": {nil, []string{"name", "time", "tests", "failures", "errors"}, []string{"testsuite"}, false},
	"testsuite": {[]string{"name", "tests", "failures", "errors"},
		[]string{"group", "time", "skipped", "timestamp", "hostname", "id", "package", "file", "log", "url"},
		[]string{"testsuite", "properties", "testcase", "system-out", "system-err"}, false},
	"testcase": {[]string{"name"}, []string{"time", "classname", "group"},
		[]string{"skipped", "error", "failure", "system-out", "system-err"}, false},
	"failure":    {nil, []string{"type", "message"}, nil, true},
	"error":      {nil, []string{"type", "message"}, nil, true},
	"skipped":    {nil, []string{"type", "message"}, nil, true},
	"system-out": {nil, nil, nil, true},
}

// checkJUnit validates a document and its counts.
func checkJUnit(text string) error {
	d := xml.NewDecoder(strings.NewReader(text))
	var path []string
	n := map[string]int{}
	attrs := map[string]int{}
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		switch x := token.(type) {
		case xml.StartElement:
			if err := checkElement(path, x); err != nil {
				return err
			}
			n[x.Name.Local]++
			for _, a := range x.Attr {
				if v, err := strconv.Atoi(a.Value); err == nil && x.Name.Local == "testsuite" {
					attrs[a.Name.Local] = v
				}
			}
			path = append(path, x.Name.Local)
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.CharData:
			if len(path) > 0 && strings.TrimSpace(string(x)) != "" && !junitSchema[path[len(path)-1]].text {
				return fmt.Errorf("text %q inside %v", x, path)
			}
		}
	}
	for attr, elements := range map[string]string{"tests": "testcase", "failures": "failure", "errors": "error",
		"skipped": "skipped"} {
		if attrs[attr] != n[elements] {
			return fmt.Errorf("%s=%d for %d of %s", attr, attrs[attr], n[elements], elements)
		}
	}
	return nil
}

func checkElement(path []string, x xml.StartElement) error {
	schema, ok := junitSchema[x.Name.Local]
	if !ok {
		return fmt.Errorf("no element %s", x.Name.Local)
	}
	if len(path) == 0 && x.Name.Local != "testsuites" || len(path) > 0 &&
		!slices.Contains(junitSchema[path[len(path)-1]].children, x.Name.Local) {
		return fmt.Errorf("%s may not stand in %v", x.Name.Local, path)
	}
	var have []string
	for _, a := range x.Attr {
		have = append(have, a.Name.Local)
		if !slices.Contains(schema.required, a.Name.Local) && !slices.Contains(schema.optional, a.Name.Local) {
			return fmt.Errorf("%s has no attribute %s", x.Name.Local, a.Name.Local)
		}
	}
	for _, want := range schema.required {
		if !slices.Contains(have, want) {
			return fmt.Errorf("%s lacks %s", x.Name.Local, want)
		}
	}
	return nil
}

// object is what a JSON schema says of an object: its properties by name, the required ones with a "!".
type object map[string]any

// The leaves of sarifSchema.
type (
	text  struct{ oneOf []string }
	uri   struct{}
	whole struct{ least float64 }
	list  struct {
		least int
		of    any
	}
	texts struct{} // an object of strings
)

var message = object{"!text": text{}}

var sarifSchema = object{
	"$schema": uri{}, "!version": text{[]string{"2.1.0"}},
	"!runs": list{0, object{
		"!tool": object{"!driver": object{"!name": text{}, "version": text{}, "informationUri": uri{},
			"rules": list{0, object{"!id": text{}, "shortDescription": message}}}},
		"results": list{0, object{
			"ruleId": text{}, "ruleIndex": whole{-1}, "!message": message, "partialFingerprints": texts{},
			"kind":  text{[]string{"notApplicable", "pass", "fail", "review", "open", "informational"}},
			"level": text{[]string{"none", "note", "warning", "error"}},
			"locations": list{1, object{ // the schema allows none; readers do not
				"physicalLocation": object{"artifactLocation": object{"uri": uri{}},
					"region": object{"startLine": whole{1}}},
				"logicalLocations": list{0, object{"fullyQualifiedName": text{}}}}},
		}},
	}},
}

// checkSARIF validates a document, and that its results name their rules.
func checkSARIF(data []byte) error {
	var doc any
	if err := json.Unmarshal(data, &doc); err != nil {
		return err
	}
	if err := checkJSON("$", sarifSchema, doc); err != nil {
		return err
	}
	for _, run := range doc.(map[string]any)["runs"].([]any) {
		rules := run.(map[string]any)["tool"].(map[string]any)["driver"].(map[string]any)["rules"].([]any)
		for _, r := range run.(map[string]any)["results"].([]any) {
			m := r.(map[string]any)
			at := int(m["ruleIndex"].(float64))
			if at >= len(rules) || rules[at].(map[string]any)["id"] != m["ruleId"] {
				return fmt.Errorf("result of %v names rule %d", m["ruleId"], at)
			}
			if m["kind"] != "fail" && m["level"] != "none" {
				return fmt.Errorf("a result of kind %v has level %v, want none", m["kind"], m["level"])
			}
		}
	}
	return nil
}

func checkJSON(at string, schema, v any) error {
	bad := func() error { return fmt.Errorf("%s: %v is no %T", at, v, schema) }
	switch s := schema.(type) {
	case text:
		x, ok := v.(string)
		if !ok || x == "" || s.oneOf != nil && !slices.Contains(s.oneOf, x) {
			return bad()
		}
	case uri:
		x, ok := v.(string)
		if _, err := url.Parse(x); !ok || err != nil || x == "" || strings.ContainsAny(x, " \\\"<>^`{|}") {
			return bad()
		}
	case whole:
		if x, ok := v.(float64); !ok || x != float64(int(x)) || x < s.least {
			return bad()
		}
	case texts:
		m, ok := v.(map[string]any)
		if !ok {
			return bad()
		}
		for k, x := range m {
			if _, ok := x.(string); !ok {
				return fmt.Errorf("%s.%s: %v is no text", at, k, x)
			}
		}
	case list:
		l, ok := v.([]any)
		if !ok || len(l) < s.least {
			return bad()
		}
		for i, x := range l {
			if err := checkJSON(fmt.Sprintf("%s[%d]", at, i), s.of, x); err != nil {
				return err
			}
		}
	case object:
		return checkObject(at, s, v)
	}
	return nil
}

func checkObject(at string, s object, v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: %v is no object", at, v)
	}
	for name, want := range s {
		key, required := strings.CutPrefix(name, "!")
		x, has := m[key]
		switch {
		case required && !has:
			return fmt.Errorf("%s lacks %s", at, key)
		case has:
			if err := checkJSON(at+"."+key, want, x); err != nil {
				return err
			}
		}
	}
	for key := range m {
		if s[key] == nil && s["!"+key] == nil {
			return fmt.Errorf("%s has no property %s", at, key)
		}
	}
	return nil
}
