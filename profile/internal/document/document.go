package document

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
// document for error messages. What is found wrong while it is read is kept, the
// first of all: see [Object.Err].
type Object struct {
	doc    string
	prefix string // "" at the top, "text_config." or "rules[2]." below
	wrong  *error // of the document
	Fields map[string]json.RawMessage
}

// Err is the first thing that was found wrong with the document.
func (o Object) Err() error { return *o.wrong }

// Lenient returns the object with an error of its own: what is wrong with it is not wrong with the document.
func (o Object) Lenient() Object {
	o.wrong = new(error)
	return o
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
	o := Object{doc: doc, wrong: new(error)}
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

// Fail notes what is wrong at a field of o.
func (o Object) Fail(field, format string, args ...any) {
	if *o.wrong == nil {
		*o.wrong = &Error{Doc: o.doc, Field: o.prefix + field, Err: fmt.Errorf(format, args...)}
	}
}

// Has reports whether a field is present and not null.
func (o Object) Has(field string) bool { return o.Field(field).Given() }

// Value is the value of a field. Of one that is not given, or not as it must be, everything is empty.
type Value struct {
	in  Object
	at  string // how messages call it
	raw json.RawMessage
}

// Field returns the value of a field.
func (o Object) Field(name string) Value { return Value{o, name, o.Fields[name]} }

// Given reports whether the field is present and not null.
func (v Value) Given() bool { return v.Kind() != NullKind }

// Kind is the JSON type of the value, NullKind if it is not given.
func (v Value) Kind() Kind { return KindOf(v.raw) }

// Fail notes what is wrong with the value.
func (v Value) Fail(format string, args ...any) { v.in.Fail(v.at, format, args...) }

// FailAt notes what is wrong with a member of a list.
func (v Value) FailAt(i int, format string, args ...any) {
	v.in.Fail(fmt.Sprintf("%s[%d]", v.at, i), format, args...)
}

// is reports whether the value is given, which must be of a kind; want is how messages call that.
func (v Value) is(kind Kind, want string) bool {
	if k := v.Kind(); k != kind && k != NullKind {
		v.Fail("want %s, got %s: %s", want, k.WithArticle(), Excerpt(v.raw))
		return false
	}
	return v.Given()
}

// into decodes the value, which must be of a kind.
func into[T any](v Value, kind Kind, want string) (out T) {
	if v.is(kind, want) {
		if err := json.Unmarshal(v.raw, &out); err != nil {
			v.Fail("%v", err)
		}
	}
	return out
}

// Text reads a string.
func (v Value) Text() string { return into[string](v, StringKind, "a string") }

// Flag reads a bool.
func (v Value) Flag() bool { return into[bool](v, BoolKind, "true or false") }

// Integer reads an integer in [lo, hi].
func (v Value) Integer(lo, hi int64) int {
	if !v.Given() {
		return 0
	}
	n, err := Whole(v.raw, lo, hi)
	if err != nil {
		v.Fail("%w", err)
	}
	return n
}

// List reads a list; its members may be null.
func (v Value) List() []Value {
	items := into[[]json.RawMessage](v, ListKind, "a list")
	list := make([]Value, len(items))
	for i, raw := range items {
		list[i] = Value{v.in, fmt.Sprintf("%s[%d]", v.at, i), raw}
	}
	return list
}

// each reads a list whose members must be given; nil if it is not given, or one of them is wrong.
func each[T any](v Value, read func(Value) T) []T {
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
func (v Value) Ints(lo, hi int64) []int {
	return each(v, func(item Value) int {
		n, err := Whole(item.raw, lo, hi)
		if err != nil {
			item.Fail("%w", err)
		}
		return n
	})
}

// Strings reads a list of strings; nil if one of them is wrong.
func (v Value) Strings() []string {
	return each(v, func(item Value) string {
		if !item.Given() {
			item.Fail("want a string, got a null: %s", Excerpt(item.raw))
		}
		return item.Text()
	})
}

// Object reads an object.
func (v Value) Object() Object {
	o := v.in
	o.prefix += v.at + "."
	o.Fields = into[map[string]json.RawMessage](v, ObjectKind, "an object")
	return o
}

// Kind is a JSON type, by the name that messages give it.
type Kind string

// The kinds.
const (
	NullKind   Kind = "null"
	ObjectKind Kind = "object"
	ListKind   Kind = "list"
	StringKind Kind = "string"
	BoolKind   Kind = "bool"
	NumberKind Kind = "number"
)

// KindOf is the JSON type of a raw value.
func KindOf(raw []byte) Kind {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return NullKind
	}
	switch raw[0] {
	case '{':
		return ObjectKind
	case '[':
		return ListKind
	case '"':
		return StringKind
	case 't', 'f':
		return BoolKind
	case 'n':
		return NullKind
	}
	return NumberKind
}

// WithArticle is the kind with "a" or "an" before it.
func (k Kind) WithArticle() string {
	if k == ObjectKind {
		return "an object"
	}
	return "a " + string(k)
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
	if k := KindOf(raw); k != NumberKind {
		return 0, fmt.Errorf("want a whole number, got %s: %s", k.WithArticle(), Excerpt(raw))
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

// Only refuses fields that are not known, the first in alphabetical order.
func (o Object) Only(known []string) {
	for _, f := range slices.Sorted(maps.Keys(o.Fields)) {
		if !slices.Contains(known, f) {
			o.Fail(Excerpt([]byte(f)), "unknown field; known are %s", strings.Join(known, ", "))
		}
	}
}

// IsDir reports whether a path is a directory.
func IsDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
