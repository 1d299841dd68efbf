package document

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/internal/atomicfile"
)

// NOTE. Documents are read field by field through object, not decoded into a
// struct: one field has a dozen names, a wrong type must name the field, and a
// config holds hundreds of fields that are none of our business. Order of work:
// bounded read → one pass that bounds the depth and neutralises Python's
// NaN/Infinity → one decoding as raw JSON (its error has an offset) → objects and lists are split into raw values.

const (
	// MaxBytes bounds a document in bytes. The largest config in the wild we
	// know of (per-layer block lists) is under 200 KiB.
	MaxBytes = 4 << 20
	// maxDepth bounds nesting. Real configs nest 4 deep.
	maxDepth = 64
)

// Read reads a complete document of at most MaxBytes bytes.
func Read(doc string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, &Error{Doc: doc, Err: err}
	}
	if len(data) > MaxBytes {
		return nil, &Error{Doc: doc, Err: fmt.Errorf("%w: larger than %d bytes", ErrLimit, MaxBytes)}
	}
	return data, nil
}

// OpenRegular opens a regular file, whose reading ends: a directory, pipe or
// device is refused.
func OpenRegular(doc, path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &Error{Doc: doc, Path: path, Err: Bare(err)}
	}
	if !info.Mode().IsRegular() {
		return nil, &Error{Doc: doc, Path: path, Err: errors.New("not a regular file")}
	}
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, &Error{Doc: doc, Path: path, Err: Bare(err)}
	}
	return f, nil
}

// Bare drops the operation and path os puts before its reason: Error names the
// path itself.
func Bare(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// Object is a JSON object whose fields are still raw, and its place in the
// document for error messages.
type Object struct {
	doc    string
	prefix string // "" at the top, "text_config." or "rules[2]." below
	Fields map[string]json.RawMessage
}

// Parse checks a document and splits its top-level object.
func Parse(doc string, data []byte) (Object, error) {
	fail := func(err error) (Object, error) { return Object{}, &Error{Doc: doc, Err: err} }
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
	o := Object{doc: doc}
	if err := json.Unmarshal(clean, &o.Fields); err != nil {
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

// Fail is an error at a field of o.
func (o Object) Fail(field, format string, args ...any) error {
	return &Error{Doc: o.doc, Field: o.prefix + field, Err: fmt.Errorf(format, args...)}
}

// Has reports whether a field is present and not null.
func (o Object) Has(field string) bool {
	raw, ok := o.Fields[field]
	return ok && KindOf(raw) != "null"
}

// KindOf names the JSON type of a raw value.
func KindOf(raw []byte) string {
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

// Article puts a or an before the name of a JSON type.
func Article(kind string) string {
	if kind == "object" {
		return "an object"
	}
	return "a " + kind
}

// Excerpt is a raw value fit for an error message.
func Excerpt(raw []byte) string {
	s := strings.TrimSpace(string(raw))
	if r := []rune(s); len(r) > 40 {
		return string(r[:37]) + "..."
	}
	return s
}

// Whole reads a raw number as an integer in [lo, hi]. Integral floats (43.0)
// pass: Python writes them.
func Whole(raw []byte, lo, hi int64) (int, error) {
	if k := KindOf(raw); k != "number" {
		return 0, fmt.Errorf("want a whole number, got %s: %s", Article(k), Excerpt(raw))
	}
	s := string(bytes.TrimSpace(raw))
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(s, 64)
		// Beyond 2^53 a float names no single integer, and no size in a config
		// comes near it.
		if ferr != nil || math.Abs(f) > 1<<53 {
			return 0, fmt.Errorf("%w: %s is outside %d…%d", ErrLimit, Excerpt(raw), lo, hi)
		}
		if f != math.Trunc(f) {
			return 0, fmt.Errorf("want a whole number, got %s", Excerpt(raw))
		}
		n = int64(f)
	}
	if n < lo || n > hi || n > math.MaxInt {
		return 0, fmt.Errorf("%w: %s is outside %d…%d", ErrLimit, Excerpt(raw), lo, hi)
	}
	return int(n), nil
}

// List splits a field that must be a list; ok is false when it is absent.
func (o Object) List(field string) (items []json.RawMessage, ok bool, err error) {
	if !o.Has(field) {
		return nil, false, nil
	}
	raw := o.Fields[field]
	if k := KindOf(raw); k != "list" {
		return nil, false, o.Fail(field, "want a list, got %s: %s", Article(k), Excerpt(raw))
	}
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, false, o.Fail(field, "%v", err)
	}
	return items, true, nil
}

// Ints reads a list of integers in [lo, hi].
func (o Object) Ints(field string, lo, hi int64) (v []int, ok bool, err error) {
	items, ok, err := o.List(field)
	if err != nil || !ok {
		return nil, ok, err
	}
	v = make([]int, len(items))
	for i, raw := range items {
		if v[i], err = Whole(raw, lo, hi); err != nil {
			return nil, false, o.Fail(fmt.Sprintf("%s[%d]", field, i), "%w", err)
		}
	}
	return v, true, nil
}

// Strings reads a list of strings.
func (o Object) Strings(field string) (v []string, ok bool, err error) {
	items, ok, err := o.List(field)
	if err != nil || !ok {
		return nil, ok, err
	}
	v = make([]string, len(items))
	for i, raw := range items {
		if v[i], err = Text(raw); err != nil {
			return nil, false, o.Fail(fmt.Sprintf("%s[%d]", field, i), "%w", err)
		}
	}
	return v, true, nil
}

// Text reads a raw string.
func Text(raw []byte) (string, error) {
	if k := KindOf(raw); k != "string" {
		return "", fmt.Errorf("want a string, got %s: %s", Article(k), Excerpt(raw))
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return "", err
	}
	return s, nil
}

// Text reads a string field, "" when absent.
func (o Object) Text(field string) (string, error) {
	if !o.Has(field) {
		return "", nil
	}
	s, err := Text(o.Fields[field])
	if err != nil {
		return "", o.Fail(field, "%w", err)
	}
	return s, nil
}

// Flag reads a bool field; ok is false when absent.
func (o Object) Flag(field string) (v, ok bool, err error) {
	if !o.Has(field) {
		return false, false, nil
	}
	raw := bytes.TrimSpace(o.Fields[field])
	if KindOf(raw) != "bool" {
		return false, false, o.Fail(field, "want true or false, got %s: %s", Article(KindOf(raw)), Excerpt(raw))
	}
	return raw[0] == 't', true, nil
}

// Integer reads an integer field in [lo, hi]; ok is false when absent.
func (o Object) Integer(field string, lo, hi int64) (v int, ok bool, err error) {
	if !o.Has(field) {
		return 0, false, nil
	}
	if v, err = Whole(o.Fields[field], lo, hi); err != nil {
		return 0, false, o.Fail(field, "%w", err)
	}
	return v, true, nil
}

// Child reads a field that must be an object; ok is false when absent.
func (o Object) Child(field string) (c Object, ok bool, err error) {
	if !o.Has(field) {
		return Object{}, false, nil
	}
	return ChildOf(o, field, o.Fields[field])
}

// ChildOf reads a value of o that must be an object; field is how messages call it.
func ChildOf(o Object, field string, raw []byte) (Object, bool, error) {
	if k := KindOf(raw); k != "object" {
		return Object{}, false, o.Fail(field, "want an object, got %s: %s", Article(k), Excerpt(raw))
	}
	c := Object{doc: o.doc, prefix: o.prefix + field + "."}
	if err := json.Unmarshal(raw, &c.Fields); err != nil {
		return Object{}, false, o.Fail(field, "%v", err)
	}
	return c, true, nil
}

// Only refuses fields that are not known, the first in alphabetical order.
func (o Object) Only(known []string) error {
	var unknown []string
	for f := range o.Fields {
		if !slices.Contains(known, f) {
			unknown = append(unknown, f)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	return &Error{Doc: o.doc, Field: o.prefix + Excerpt([]byte(unknown[0])),
		Err: errors.New("unknown field; known are " + strings.Join(known, ", "))}
}

// IsDir reports whether a path is a directory.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
