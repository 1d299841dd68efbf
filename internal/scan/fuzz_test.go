package scan_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/llmstrata/strata/internal/decimal"
	"github.com/llmstrata/strata/internal/scan"
)

func seed(f *testing.F) {
	for _, s := range []string{
		small, doc(), doc(ev("a"), ev("b")), "[" + ev("a") + ",", ev("x")[:40], "{}", "[[1]]", "",
		`{"traceEvents":[{"ph":"X","ts":1e400}]}`,
		doc(ev("q", `, "args": {"co": "<string "x">", "n": 1}`), ev("c")),
		`{"INFO": ["a "b" c"], "traceEvents": [` + ev("a") + "]}",
		`{"traceEvents": [{"ph":"B","name":"\ud83d\ude00\u00e9"}, {"ph":"E","pid":-1,"tid":1.5}]}`,
		doc(`[1, ["x"], {"id": 2}`, ev("a"), ev("b")), doc("[["+ev("a")+"]", ev("b"), "]"),
		doc(`["x" "y", `+ev("a"), ev("b")),
	} {
		f.Add([]byte(s), uint8(7))
	}
}

// FuzzSegments holds every way of cutting the input against the uncut scan.
func FuzzSegments(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		cfg := scan.Config{Segment: len(data) + 1, MaxEvent: 400}
		want := pull(bytes.NewReader(data), cfg)
		cfg.Segment, cfg.Workers = int(size)+1, 2
		if got := pull(bytes.NewReader(data), cfg); cmp.Diff(want, got) != "" {
			t.Errorf("pull in segments of %d (-whole +segments):\n%s", cfg.Segment, cmp.Diff(want, got))
		}
		if got := push(bytes.NewReader(data), cfg); cmp.Diff(want, got) != "" {
			t.Errorf("push in segments of %d (-whole +segments):\n%s", cfg.Segment, cmp.Diff(want, got))
		}
	})
}

// FuzzAgainstEncodingJSON: on valid documents whose traceEvents holds objects,
// the scanner sees the events that encoding/json sees.
func FuzzAgainstEncodingJSON(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		var elems []json.RawMessage
		if !json.Valid(data) || !utf8.Valid(data) || !onlyArray(data, &elems) || frontEvent(data) {
			t.Skip("encoding/json does not read it: nothing to compare with")
		}
		var want []string
		for _, e := range elems {
			var m map[string]json.RawMessage
			if e[0] == '[' && bytes.Contains(e, []byte(`"ph"`)) {
				t.Skip("an event in an array among the events is read, by design")
			}
			if json.Unmarshal(e, &m) != nil || m == nil {
				continue
			}
			if n := bytes.Count(e, []byte(`"ph"`)); n > 1 || n == 1 && m["ph"] == nil {
				t.Skip("an event inside another element is read, by design")
			}
			var ph, name string
			if bytes.HasPrefix(m["ph"], []byte(`"\`)) {
				t.Skip("an escaped phase letter is not resolved, by design")
			}
			if json.Unmarshal(m["ph"], &ph) != nil || ph == "" {
				continue
			}
			if ph[0] >= utf8.RuneSelf {
				t.Skip("a phase is one byte, by design")
			}
			if ts, ok := m["ts"]; ok && !plausible(ts) {
				continue
			}
			if dur, ok := m["dur"]; ok && !plausible(dur) && string(dur) != "null" {
				continue
			}
			if json.Unmarshal(m["name"], &name) != nil {
				name = ""
			}
			want = append(want, ph[:1]+" "+name)
		}
		s := scan.NewScanner(bytes.NewReader(data), scan.Config{Segment: int(size) + 1})
		var got []string
		for {
			e, err := s.Next()
			if err != nil {
				break
			}
			if bytes.ContainsAny(e.Raw, "\\") && hasEscapedKey(e.Raw) {
				t.Skip("escaped keys are not resolved, by design")
			}
			if e.Has&scan.HasName == 0 {
				e.Name = nil
			}
			got = append(got, string(e.Phase)+" "+string(scan.AppendText(nil, e.Name)))
		}
		if d := cmp.Diff(want, got); d != "" {
			if duplicateKeys(elems) || tooDeep(data) {
				t.Skip("keys that are there twice, or more nesting than the scanner follows")
			}
			t.Errorf("%s\n(-encoding/json +scan):\n%s", data, d)
		}
	})
}

func plausible(raw json.RawMessage) bool {
	s := []byte(raw)
	if len(s) > 1 && s[0] == '"' {
		s = s[1 : len(s)-1]
	}
	_, err := decimal.Micros(s)
	return err == nil || err == decimal.ErrNonFinite && s[0] != 'n'
}

// onlyArray takes the value of the one traceEvents key at the top of data, or data itself.
func onlyArray(data []byte, elems *[]json.RawMessage) bool {
	if bytes.Count(data, []byte(`traceEvents`)) != 1 || bytes.Contains(data, []byte(`\u`)) &&
		!bytes.Contains(data, []byte(`"traceEvents"`)) {
		return false
	}
	var top map[string]json.RawMessage
	if json.Unmarshal(data, &top) != nil {
		return false
	}
	raw, ok := top["traceEvents"]
	return ok && json.Unmarshal(raw, elems) == nil
}

func hasEscapedKey(raw []byte) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(raw, &m) != nil {
		return true
	}
	for k := range m {
		if !bytes.Contains(raw, []byte(`"`+k+`"`)) {
			return true
		}
	}
	return false
}

// duplicateKeys: a repeated key of another type than the first is read differently.
func duplicateKeys(elems []json.RawMessage) bool {
	for _, e := range elems {
		for _, k := range []string{"ph", "name", "ts", "dur", "args"} {
			if bytes.Count(e, []byte(`"`+k+`"`)) > 1 {
				return true
			}
		}
	}
	return false
}

func tooDeep(data []byte) bool {
	return bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > scan.MaxDepth
}

// frontEvent reports an object in the metadata that would pass for an event:
// the events are taken to begin there, by design.
func frontEvent(data []byte) bool {
	at := bytes.Index(data, []byte(`"traceEvents"`))
	front := data[:max(at, 0)]
	return bytes.Contains(front, []byte(`"ph"`)) && bytes.Contains(front, []byte(`"name"`))
}
