package profile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/table"
)

// NOTE. Documents are read field by field through object, not decoded into a
// struct: one field has a dozen names, a wrong type must name the field, and a
// config holds hundreds of fields that are none of our business. Order of work:
// bounded read → one pass that bounds the depth and neutralises Python's
// NaN/Infinity → one decoding as raw JSON (its error has an offset) → objects and lists are split into raw values.

const (
	// maxBytes bounds a document in bytes. The largest config in the wild we
	// know of (per-layer block lists) is under 200 KiB.
	maxBytes = 4 << 20
	// maxDepth bounds nesting. Real configs nest 4 deep.
	maxDepth = 64
)

// readDocument reads a complete document of at most MaxBytes bytes.
func readDocument(doc string, r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxBytes+1))
	if err != nil {
		return nil, &documentError{Doc: doc, Err: err}
	}
	if len(data) > maxBytes {
		return nil, &documentError{Doc: doc, Err: fmt.Errorf("%w: larger than %d bytes", errLimit, maxBytes)}
	}
	return data, nil
}

// openRegular opens a regular file, whose reading ends: a directory, pipe or
// device is refused.
func openRegular(doc, path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, &documentError{Doc: doc, Path: path, Err: bare(err)}
	}
	if !info.Mode().IsRegular() {
		return nil, &documentError{Doc: doc, Path: path, Err: errors.New("not a regular file")}
	}
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, &documentError{Doc: doc, Path: path, Err: bare(err)}
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
// document for error messages. What is found wrong while it is read is kept, the
// first of all: see [Object.Err].
type object struct {
	doc    string
	prefix string // "" at the top, "text_config." or "rules[2]." below
	wrong  *error // of the document
	Fields map[string]json.RawMessage
}

// Err is the first thing that was found wrong with the document.
func (o object) Err() error { return *o.wrong }

// Lenient returns the object with an error of its own: what is wrong with it is not wrong with the document.
func (o object) Lenient() object {
	o.wrong = new(error)
	return o
}

// parseDocument checks a document and splits its top-level object.
func parseDocument(doc string, data []byte) (object, error) {
	fail := func(err error) (object, error) { return object{}, &documentError{Doc: doc, Err: err} }
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // editors on Windows write one
	clean, err := tame(data)
	if err != nil {
		return fail(err)
	}
	if t := bytes.TrimSpace(clean); len(t) == 0 {
		return fail(fmt.Errorf("%w: empty", errSyntax))
	} else if t[0] != '{' {
		return fail(fmt.Errorf("%w: starts with %q", errSyntax, t[0]))
	}
	var probe json.RawMessage
	if err := json.Unmarshal(clean, &probe); err != nil {
		var se *json.SyntaxError
		if errors.As(err, &se) {
			return fail(fmt.Errorf("%w: %v (offset %d)", errSyntax, se, se.Offset))
		}
		return fail(fmt.Errorf("%w: %v", errSyntax, err))
	}
	o := object{doc: doc, wrong: new(error)}
	if err := json.Unmarshal(clean, &o.Fields); err != nil {
		return fail(fmt.Errorf("%w: %v", errSyntax, err))
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
				return nil, fmt.Errorf("%w: nested deeper than %d at offset %d", errLimit, maxDepth, i)
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

// Fail notes what is wrong at a field of o.
func (o object) Fail(field, format string, args ...any) {
	if *o.wrong == nil {
		*o.wrong = &documentError{Doc: o.doc, Field: o.prefix + field, Err: fmt.Errorf(format, args...)}
	}
}

// value is the value of a field. Of one that is not given, or not as it must be, everything is empty.
type value struct {
	in  object
	at  string // how messages call it
	raw json.RawMessage
}

// Field returns the value of a field.
func (o object) Field(name string) value { return value{o, name, o.Fields[name]} }

// Given reports whether the field is present and not null.
func (v value) Given() bool { return v.Kind() != nullKind }

// Kind is the JSON type of the value, nullKind if it is not given.
func (v value) Kind() valueKind { return kindOf(v.raw) }

// Fail notes what is wrong with the value.
func (v value) Fail(format string, args ...any) { v.in.Fail(v.at, format, args...) }

// FailAt notes what is wrong with a member of a list.
func (v value) FailAt(i int, format string, args ...any) {
	v.in.Fail(fmt.Sprintf("%s[%d]", v.at, i), format, args...)
}

// is reports whether the value is given, which must be of a kind; want is how messages call that.
func (v value) is(kind valueKind, want string) bool {
	if k := v.Kind(); k != kind && k != nullKind {
		v.Fail("want %s, got %s: %s", want, table.WithArticle(string(k)), excerpt(v.raw))
		return false
	}
	return v.Given()
}

// into decodes the value, which must be of a kind.
func into[T any](v value, kind valueKind, want string) (out T) {
	if v.is(kind, want) {
		if err := json.Unmarshal(v.raw, &out); err != nil {
			v.Fail("%v", err)
		}
	}
	return out
}

// Text reads a string.
func (v value) Text() string { return into[string](v, stringKind, "a string") }

// Flag reads a bool.
func (v value) Flag() bool { return into[bool](v, boolKind, "true or false") }

// Integer reads an integer in [lo, hi].
func (v value) Integer(lo, hi int64) int {
	if !v.Given() {
		return 0
	}
	n, err := wholeNumber(v.raw, lo, hi)
	if err != nil {
		v.Fail("%w", err)
	}
	return n
}

// List reads a list; its members may be null.
func (v value) List() []value {
	items := into[[]json.RawMessage](v, listKind, "a list")
	list := make([]value, len(items))
	for i, raw := range items {
		list[i] = value{v.in, fmt.Sprintf("%s[%d]", v.at, i), raw}
	}
	return list
}

// each reads a list whose members must be given; nil if it is not given, or one of them is wrong.
func each[T any](v value, read func(value) T) []T {
	if !v.Given() {
		return nil
	}
	items := v.List()
	out := make([]T, len(items))
	for i, item := range items {
		if out[i] = read(item); v.in.Err() != nil {
			return nil
		}
	}
	return out
}

// Ints reads a list of integers in [lo, hi]; nil if one of them is wrong.
func (v value) Ints(lo, hi int64) []int {
	return each(v, func(item value) int {
		n, err := wholeNumber(item.raw, lo, hi)
		if err != nil {
			item.Fail("%w", err)
		}
		return n
	})
}

// Strings reads a list of strings; nil if one of them is wrong.
func (v value) Strings() []string {
	return each(v, func(item value) string {
		if !item.Given() {
			item.Fail("want a string, got a null: %s", excerpt(item.raw))
		}
		return item.Text()
	})
}

// object reads an object.
func (v value) Object() object {
	o := v.in
	o.prefix += v.at + "."
	o.Fields = into[map[string]json.RawMessage](v, objectKind, "an object")
	return o
}

// valueKind is a JSON type, by the name that messages give it.
type valueKind string

// The kinds.
const (
	nullKind   valueKind = "null"
	objectKind valueKind = "object"
	listKind   valueKind = "list"
	stringKind valueKind = "string"
	boolKind   valueKind = "bool"
	numberKind valueKind = "number"
)

// kindOf is the JSON type of a raw value.
func kindOf(raw []byte) valueKind {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nullKind
	}
	switch raw[0] {
	case '{':
		return objectKind
	case '[':
		return listKind
	case '"':
		return stringKind
	case 't', 'f':
		return boolKind
	case 'n':
		return nullKind
	}
	return numberKind
}

// excerpt is a raw value fit for an error message.
func excerpt(raw []byte) string {
	s := strings.TrimSpace(string(raw))
	if r := []rune(s); len(r) > 40 {
		return string(r[:37]) + "..."
	}
	return s
}

// wholeNumber reads a raw number as an integer in [lo, hi]. Integral floats (43.0)
// pass: Python writes them.
func wholeNumber(raw []byte, lo, hi int64) (int, error) {
	if k := kindOf(raw); k != numberKind {
		return 0, fmt.Errorf("want a whole number, got %s: %s", table.WithArticle(string(k)), excerpt(raw))
	}
	s := string(bytes.TrimSpace(raw))
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		f, ferr := strconv.ParseFloat(s, 64)
		// Beyond 2^53 a float names no single integer, and no size in a config
		// comes near it.
		if ferr != nil || math.Abs(f) > 1<<53 {
			return 0, fmt.Errorf("%w: %s is outside %d…%d", errLimit, excerpt(raw), lo, hi)
		}
		if f != math.Trunc(f) {
			return 0, fmt.Errorf("want a whole number, got %s", excerpt(raw))
		}
		n = int64(f)
	}
	if n < lo || n > hi || n > math.MaxInt {
		return 0, fmt.Errorf("%w: %s is outside %d…%d", errLimit, excerpt(raw), lo, hi)
	}
	return int(n), nil
}

// Only refuses fields that are not known, the first in alphabetical order.
func (o object) Only(known []string) {
	for _, f := range slices.Sorted(maps.Keys(o.Fields)) {
		if !slices.Contains(known, f) {
			o.Fail(excerpt([]byte(f)), "unknown field; known are %s", strings.Join(known, ", "))
		}
	}
}

// isDir reports whether a path is a directory.
func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
