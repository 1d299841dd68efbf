package sqlite

import (
	"slices"
	"strings"
)

// token is a word, a quoted name or text, or a sign of SQL.
type token struct {
	text   string // of a word in capitals, of a quoted name without its quotes
	name   string // as it is written, without quotes
	quoted bool
}

// tokens splits the text of a CREATE statement (https://www.sqlite.org/lang_createtable.html).
func tokens(sql string) []token {
	var out []token
	for sql != "" {
		switch c := sql[0]; {
		case strings.ContainsRune(" \t\n\f\r", rune(c)):
			sql = sql[1:]
		case strings.HasPrefix(sql, "--"):
			_, sql, _ = strings.Cut(sql, "\n")
		case strings.HasPrefix(sql, "/*"):
			_, sql, _ = strings.Cut(sql, "*/")
		case c == '"' || c == '`' || c == '\'' || c == '[':
			var name string
			name, sql = quotedName(sql)
			out = append(out, token{text: name, name: name, quoted: true})
		default:
			n := 0
			for n < len(sql) && isWord(sql[n]) {
				n++
			}
			n = max(n, 1)
			out = append(out, token{text: strings.ToUpper(sql[:n]), name: sql[:n]})
			sql = sql[n:]
		}
	}
	return out
}

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// quotedName takes a quoted name from the beginning of a text; a quote within it is written twice.
func quotedName(sql string) (name, rest string) {
	end := sql[:1]
	if end == "[" {
		name, rest, _ = strings.Cut(sql[1:], "]")
		return name, rest
	}
	var b strings.Builder
	for rest = sql[1:]; ; rest = rest[1:] {
		var part string
		part, rest, _ = strings.Cut(rest, end)
		b.WriteString(part)
		if !strings.HasPrefix(rest, end) {
			return b.String(), rest
		}
		b.WriteString(end)
	}
}

// is reports whether the token is one of these words, not quoted.
func (t token) is(words ...string) bool { return !t.quoted && slices.Contains(words, t.text) }

// Words that begin what is no column, and those that end the type of one.
var (
	constraints = []string{"CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"}
	endsType    = append([]string{"NOT", "NULL", "DEFAULT", "COLLATE", "REFERENCES", "GENERATED", "AS", "("},
		constraints...)
)

// maxSQL is the longest statement that SQLite itself takes (https://www.sqlite.org/limits.html).
const maxSQL = 1_000_000

// parseTable reads the columns from the statement that made a table; it returns nil, and what it made, where that is no
// table with rowids.
func parseTable(sql string) (t *Table, why string) {
	all := tokens(sql[:min(len(sql), maxSQL)])
	open := slices.IndexFunc(all, func(t token) bool { return t.is("(") })
	switch {
	case len(all) > 1 && all[1].is("VIRTUAL"):
		return nil, virtualTable
	case len(all) < 2 || !all[1].is("TABLE") || open < 0:
		return nil, otherTable
	}
	t = &Table{}
	stored, depth, from := 0, 1, open+1
	for i := open + 1; i < len(all); i++ {
		switch {
		case all[i].is("("):
			depth++
		case all[i].is(")"):
			depth--
		}
		if depth == 0 || depth == 1 && all[i].is(",") {
			stored = t.define(all[from:i], stored)
			from = i + 1
		}
		if depth == 0 {
			break
		}
	}
	if slices.ContainsFunc(all[min(from, len(all)):], func(t token) bool { return t.is("WITHOUT") }) {
		return nil, withoutRowid
	}
	return t, ""
}

// define adds the definition between two commas: a record has stored columns before it, and as many as the result
// after it.
func (t *Table) define(def []token, stored int) int {
	if len(def) == 0 {
		return stored
	}
	key := slices.IndexFunc(def, func(t token) bool { return t.is("PRIMARY") })
	if def[0].is(constraints...) {
		// PRIMARY KEY (NAME) of a column INTEGER is the rowid. A table has one key.
		if key >= 0 && len(def) == key+5 && def[key+2].is("(") && !t.keyed {
			t.keyed = true
			if i := t.Column(def[key+3].name); i >= 0 && t.stored[i] >= 0 && t.whole[i] {
				t.stored[i] = ofRowid
			}
		}
		return stored
	}
	end := slices.IndexFunc(def[1:], func(t token) bool { return t.is(endsType...) }) + 1
	if end == 0 {
		end = len(def)
	}
	whole := end == 2 && def[1].is("INTEGER")
	if as := slices.IndexFunc(def, func(t token) bool { return t.is("AS") }); as >= end {
		// A column made of others is in a record only where it says so; SQLite lists neither among the columns.
		if slices.ContainsFunc(def[as:], func(t token) bool { return t.is("STORED") }) {
			stored++
		}
		return stored
	}
	place := stored
	if whole && key >= 0 && !(key+2 < len(def) && def[key+2].is("DESC")) {
		place = ofRowid // the record has a null there
	}
	t.Columns, t.stored, t.whole = append(t.Columns, def[0].name), append(t.stored, place), append(t.whole, whole)
	return stored + 1
}
