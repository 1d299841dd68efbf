package perfetto

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/mask"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/internal/table"
)

// CopyOptions say what a copy or slice holds beside its events. The zero value
// keeps what is known to be harmless.
type CopyOptions struct {
	// Redact hides parts of the events of a slice. [Annotate] refuses it.
	Redact Redaction
	// KeepMetadata keeps all values beside the events, also those that nobody
	// knows, and environments and keys in events. Without it only what is known to
	// say nothing about who recorded the trace stays, and what looks like a key is
	// replaced by stars.
	KeepMetadata bool
}

// metas chooses of the values beside the events those that may leave. It
// returns the text to write after the events, and the keys of what is left out
// or shortened.
func (o CopyOptions) metas(all []scan.Meta) (text []byte, removed []string) {
	for _, m := range all {
		value := json.RawMessage(bytes.TrimSpace(m.Value))
		if !o.KeepMetadata || o.Redact.any() {
			known := publicMeta(m.Key, value, o.Redact.any())
			if !sameJSON(value, known) {
				removed = append(removed, m.Key)
			}
			value = known
		}
		if value != nil && json.Valid(value) {
			text = append(text, ",\n\""+m.Key+"\": "...)
			text = append(text, value...)
		}
	}
	return text, removed
}

// sameJSON reports whether two values are written alike, but for white space and the order of fields.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if b == nil || json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return bytes.Equal(marshal(x), marshal(y))
}

// masked passes a copy on without what looks like a key, unless the user wants
// all of it, and returns what was replaced.
func (o CopyOptions) masked(out io.Writer, write func(*bufio.Writer) error) (found []string, err error) {
	m := mask.NewWriter(out)
	if !o.KeepMetadata {
		out = m
	}
	b := bufio.NewWriterSize(out, 1<<16)
	if err := write(b); err != nil {
		return nil, err
	}
	if err := b.Flush(); err != nil {
		return nil, err
	}
	err = m.Flush()
	return m.Found(), err
}

// environmentNames are variables that every environment has some of.
var environmentNames = []string{"PATH", "HOME", "HOSTNAME", "USER", "PWD", "LD_LIBRARY_PATH", "SHELL"}

// leastEnvironment is how many variables make an environment.
const leastEnvironment = 3

// environment reports whether a value is a map of environment variables, or
// holds one: names in capitals with texts, one of them known.
func environment(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		variables, known := 0, false
		for k, x := range v {
			if _, text := x.(string); text && k == strings.ToUpper(k) &&
				strings.ContainsFunc(k, func(r rune) bool { return r >= 'A' && r <= 'Z' }) {
				variables++
				known = known || slices.Contains(environmentNames, k)
			}
			if environment(x) {
				return true
			}
		}
		return known && variables >= leastEnvironment
	case []any:
		return slices.ContainsFunc(v, environment)
	}
	return false
}

// withoutEnvironment is an event without the args that hold an environment, and
// whether there were any; nil where it cannot be made safe.
func withoutEnvironment(raw []byte) ([]byte, bool) {
	if !slices.ContainsFunc(environmentNames, func(n string) bool { return bytes.Contains(raw, []byte(n+`"`)) }) {
		return raw, false
	}
	var e map[string]json.RawMessage
	var args map[string]any
	if json.Unmarshal(raw, &e) != nil || json.Unmarshal(e["args"], &args) != nil {
		return raw, false
	}
	found := environment(args)
	for k, v := range args {
		if environment(v) {
			delete(args, k)
		}
	}
	if !found {
		return raw, false
	}
	if environment(args) {
		args = nil
	}
	e["args"] = marshal(args)
	return marshal(e), true
}

// removals words what a copy lacks: keys of values, environments and keys.
func removals(keys []string, environments int, found []string) []string {
	out := slices.Clone(keys)
	if environments > 0 {
		out = append(out, "args of "+table.Counted(environments, "event", "events")+" (environments)")
	}
	return append(out, found...)
}

// texts adds the texts of a JSON document to those that remain: what a reader of the file can see.
func (r *redactor) texts(raw []byte) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	for {
		tok, err := d.Token()
		if err != nil {
			return
		}
		if s, ok := tok.(string); ok && !r.harmless(s) {
			r.kept[s] = true
		}
	}
}

// harmless reports whether a text is one of the format's own words, a number or a replacement.
func (r *redactor) harmless(s string) bool {
	return r.made[s] || len(s) <= 1 || formatWords[s] || numberArgs[s] || textArgs[s] != nil ||
		slices.Contains(shapeArgs, s) || number().MatchString(s) ||
		category().MatchString(s) || metaKeys[s] || metaLists[s]
}

// formatWords are fields of events, and values of theirs that say nothing.
var formatWords = keys([]string{"ph", "cat", "name", "pid", "tid", "ts", "dur", "id", "bp", "args", "labels", "kernel",
	"process_name", "thread_name", "process_labels",
	"process_sort_index", "thread_sort_index", "displayTimeUnit", "pg_desc", "backend", "backend_config",
	"nccl_version", "traceEvents"})
