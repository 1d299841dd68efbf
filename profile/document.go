package profile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
)

// NOTE. Documents are read field by field through object, not decoded into a
// struct: one field has a dozen names, a wrong type must name the field, and a
// config holds hundreds of fields that are none of our business. Order of work:
// bounded read → one pass that bounds the depth and neutralises Python's
// NaN/Infinity → encoding/json.Valid (its error has an offset) → objects and lists are split into raw values.

const (
	// maxDocument bounds a document in bytes. The largest config in the wild we
	// know of (per-layer block lists) is under 200 KiB.
	maxDocument = 4 << 20
	// maxDepth bounds nesting. Real configs nest 4 deep.
	maxDepth = 64
)

// readDocument reads a whole document of at most maxDocument bytes.
func readDocument(doc string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err != nil {
		return nil, &Error{Doc: doc, Err: err}
	}
	if len(data) > maxDocument {
		return nil, &Error{Doc: doc, Err: fmt.Errorf("%w: larger than %d bytes", ErrLimit, maxDocument)}
	}
	return data, nil
}

// openRegular opens a file after making sure that reading it ends: a directory,
// pipe or device is refused.
func openRegular(doc, path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &Error{Doc: doc, Path: path, Err: bare(err)}
	}
	if !info.Mode().IsRegular() {
		return nil, &Error{Doc: doc, Path: path, Err: errors.New("not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, &Error{Doc: doc, Path: path, Err: bare(err)}
	}
	return f, nil
}

// bare drops the operation and path os puts before its reason: Error names the
// path itself.
func bare(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// object is a JSON object whose fields are still raw, and its place in the
// document for error messages.
type object struct {
	doc    string
	prefix string // "" at the top, "text_config." or "rules[2]." below
	fields map[string]json.RawMessage
}

// parseObject checks a document and splits its top-level object.
func parseObject(doc string, data []byte) (object, error) {
	fail := func(err error) (object, error) { return object{}, &Error{Doc: doc, Err: err} }
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // editors on Windows write one
	clean, err := tame(data)
	if err != nil {
		return fail(err)
	}
	if t := bytes.TrimSpace(clean); len(t) == 0 {
		return fail(fmt.Errorf("%w: empty", ErrSyntax))
	} else if t[0] != '{' {
		return fail(fmt.Errorf("%w: starts with %q", ErrSyntax, t[0]))
	}
	var probe json.RawMessage
	if err := json.Unmarshal(clean, &probe); err != nil {
		var se *json.SyntaxError
		if errors.As(err, &se) {
			return fail(fmt.Errorf("%w: %v (offset %d)", ErrSyntax, se, se.Offset))
		}
		return fail(fmt.Errorf("%w: %v", ErrSyntax, err))
	}
	o := object{doc: doc}
	if err := json.Unmarshal(clean, &o.fields); err != nil {
		return fail(fmt.Errorf("%w: %v", ErrSyntax, err))
	}
	return o, nil
}

// tame bounds the nesting depth and replaces the bare words NaN, Infinity and
// -Infinity, which Python's json writes (Mamba configs hold
// "time_step_limit": [0.0, Infinity]), by null of the same length.
func tame(data []byte) ([]byte, error) {
	depth, inString := 0, false
	var out []byte // data, copied at the first replacement
	for i := 0; i < len(data); i++ {
		c := data[i]
		if inString {
			switch c {
			case '\\':
				i++
			case '"':
				inString = false
			}
			continue
		}
		switch c {
		case '"':
			inString = true
		case '{', '[':
			if depth++; depth > maxDepth {
				return nil, fmt.Errorf("%w: nested deeper than %d at offset %d", ErrLimit, maxDepth, i)
			}
		case '}', ']':
			depth--
		case 'N', 'I', '-':
			for _, word := range []string{"NaN", "Infinity", "-Infinity"} {
				if !bytes.HasPrefix(data[i:], []byte(word)) {
					continue
				}
				if out == nil {
					out = bytes.Clone(data)
				}
				// A number of the word's own length keeps every later offset.
				copy(out[i:], strings.Repeat(" ", len(word)))
				if len(word) >= len("null") {
					copy(out[i:], "null")
				} else {
					copy(out[i:], "0") // NaN; of a field we read, 0 means not given
				}
				i += len(word) - 1
				break
			}
		}
	}
	if out != nil {
		return out, nil
	}
	return data, nil
}

// fail is an error at a field of o.
func (o object) fail(field, format string, args ...any) error {
	return &Error{Doc: o.doc, Field: o.prefix + field, Err: fmt.Errorf(format, args...)}
}

// has reports whether a field is present and not null.
func (o object) has(field string) bool {
	raw, ok := o.fields[field]
	return ok && kindOf(raw) != "null"
}

// kindOf names the JSON type of a raw value.
func kindOf(raw []byte) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return "null"
	}
	switch raw[0] {
	case '{':
		return "object"
	case '[':
		return "list"
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	return "number"
}

// article puts a or an before the name of a JSON type.
func article(kind string) string {
	if kind == "object" {
		return "an object"
	}
	return "a " + kind
}

// excerpt is a raw value fit for an error message.
func excerpt(raw []byte) string {
	s := strings.TrimSpace(string(raw))
	if r := []rune(s); len(r) > 40 {
		return string(r[:37]) + "..."
	}
	return s
}

// whole reads a raw number as an integer in [lo, hi]. Integral floats (43.0)
// pass: Python writes them.
func whole(raw []byte, lo, hi int64) (int, error) {
	if k := kindOf(raw); k != "number" {
		return 0, fmt.Errorf("want a whole number, got %s: %s", article(k), excerpt(raw))
	}
	s := string(bytes.TrimSpace(raw))
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(s, 64)
		// Beyond 2^53 a float names no single integer, and no size in a config
		// comes near it.
		if ferr != nil || math.Abs(f) > 1<<53 {
			return 0, fmt.Errorf("%w: %s is outside %d…%d", ErrLimit, excerpt(raw), lo, hi)
		}
		if f != math.Trunc(f) {
			return 0, fmt.Errorf("want a whole number, got %s", excerpt(raw))
		}
		n = int64(f)
	}
	if n < lo || n > hi || n > math.MaxInt {
		return 0, fmt.Errorf("%w: %s is outside %d…%d", ErrLimit, excerpt(raw), lo, hi)
	}
	return int(n), nil
}

// list splits a field that must be a list; ok is false when it is absent.
func (o object) list(field string) (items []json.RawMessage, ok bool, err error) {
	if !o.has(field) {
		return nil, false, nil
	}
	raw := o.fields[field]
	if k := kindOf(raw); k != "list" {
		return nil, false, o.fail(field, "want a list, got %s: %s", article(k), excerpt(raw))
	}
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, false, o.fail(field, "%v", err)
	}
	return items, true, nil
}

// ints reads a list of integers in [lo, hi].
func (o object) ints(field string, lo, hi int64) (v []int, ok bool, err error) {
	items, ok, err := o.list(field)
	if err != nil || !ok {
		return nil, ok, err
	}
	v = make([]int, len(items))
	for i, raw := range items {
		if v[i], err = whole(raw, lo, hi); err != nil {
			return nil, false, o.fail(fmt.Sprintf("%s[%d]", field, i), "%w", err)
		}
	}
	return v, true, nil
}

// strings reads a list of strings.
func (o object) strings(field string) (v []string, ok bool, err error) {
	items, ok, err := o.list(field)
	if err != nil || !ok {
		return nil, ok, err
	}
	v = make([]string, len(items))
	for i, raw := range items {
		if v[i], err = text(raw); err != nil {
			return nil, false, o.fail(fmt.Sprintf("%s[%d]", field, i), "%w", err)
		}
	}
	return v, true, nil
}

// text reads a raw string.
func text(raw []byte) (string, error) {
	if k := kindOf(raw); k != "string" {
		return "", fmt.Errorf("want a string, got %s: %s", article(k), excerpt(raw))
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", err
	}
	return s, nil
}

// text reads a string field, "" when absent.
func (o object) text(field string) (string, error) {
	if !o.has(field) {
		return "", nil
	}
	s, err := text(o.fields[field])
	if err != nil {
		return "", o.fail(field, "%w", err)
	}
	return s, nil
}

// flag reads a bool field; ok is false when absent.
func (o object) flag(field string) (v, ok bool, err error) {
	if !o.has(field) {
		return false, false, nil
	}
	raw := bytes.TrimSpace(o.fields[field])
	if kindOf(raw) != "bool" {
		return false, false, o.fail(field, "want true or false, got %s: %s", article(kindOf(raw)), excerpt(raw))
	}
	return raw[0] == 't', true, nil
}

// integer reads an integer field in [lo, hi]; ok is false when absent.
func (o object) integer(field string, lo, hi int64) (v int, ok bool, err error) {
	if !o.has(field) {
		return 0, false, nil
	}
	if v, err = whole(o.fields[field], lo, hi); err != nil {
		return 0, false, o.fail(field, "%w", err)
	}
	return v, true, nil
}

// child reads a field that must be an object; ok is false when absent.
func (o object) child(field string) (c object, ok bool, err error) {
	if !o.has(field) {
		return object{}, false, nil
	}
	return childOf(o, field, o.fields[field])
}

func childOf(o object, field string, raw []byte) (object, bool, error) {
	if k := kindOf(raw); k != "object" {
		return object{}, false, o.fail(field, "want an object, got %s: %s", article(k), excerpt(raw))
	}
	c := object{doc: o.doc, prefix: o.prefix + field + "."}
	if err := json.Unmarshal(raw, &c.fields); err != nil {
		return object{}, false, o.fail(field, "%v", err)
	}
	return c, true, nil
}
