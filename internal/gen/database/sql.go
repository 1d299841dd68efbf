package database

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
)

// Words of SQL.
const (
	null       = "NULL"
	integerKey = "INTEGER" // the type of a primary key that is the rowid
)

// Exec runs statements: CREATE TABLE, CREATE VIEW, and INSERT INTO with VALUES of literals and of ?, for which
// the arguments are taken in their order.
func (d *Database) Exec(script string, args ...any) error {
	for _, s := range split(script, ';') {
		words := strings.Fields(s)
		switch {
		case len(words) == 0:
		case len(words) > 3 && strings.HasPrefix(s, "CREATE VIEW "):
			d.views = append(d.views, [2]string{words[2], s})
		case strings.HasPrefix(s, "CREATE TABLE "):
			name, rest, _ := strings.Cut(s[len("CREATE TABLE "):], "(")
			end := strings.LastIndexByte(rest, ')')
			if end < 0 {
				return fmt.Errorf("database: no columns: %.100s", s)
			}
			t := NewTable(unquoted(name), split(rest[:end], ',')...)
			t.options = rest[end+1:]
			d.Tables = append(d.Tables, t)
		case strings.HasPrefix(s, "INSERT INTO "):
			into, rows, ok := strings.Cut(s[len("INSERT INTO "):], "VALUES")
			if !ok {
				return fmt.Errorf("database: no VALUES: %.100s", s)
			}
			var err error
			if args, err = d.insert(into, rows, args); err != nil {
				return err
			}
		default:
			return fmt.Errorf("database: unknown statement: %.100s", s)
		}
	}
	return nil
}

// insert adds rows and returns the arguments that they leave.
func (d *Database) insert(into, rows string, args []any) ([]any, error) {
	name, columns, some := strings.Cut(strings.TrimSuffix(strings.TrimSpace(into), ")"), "(")
	t := d.Table(unquoted(name))
	if t == nil {
		return nil, fmt.Errorf("database: no table %s", name)
	}
	var places []int
	for _, c := range split(columns, ',') {
		at := t.Column(unquoted(c))
		if at < 0 {
			return nil, fmt.Errorf("database: no column %s of %s", c, name)
		}
		places = append(places, at)
	}
	for _, r := range split(rows, ',') {
		literals := split(strings.TrimSuffix(strings.TrimPrefix(r, "("), ")"), ',')
		row := make([]any, len(t.Columns))
		for i, text := range literals {
			at := i
			if some {
				at = places[i]
			}
			if text == "?" {
				row[at], args = args[0], args[1:]
				continue
			}
			v, err := literal(text)
			if err != nil {
				return nil, err
			}
			row[at] = v
		}
		t.Insert(row...)
	}
	return args, nil
}

// literal returns the value of a literal of SQL.
func literal(text string) (any, error) {
	switch {
	case text == null:
		return nil, nil
	case text[0] == '\'':
		return unquoted(text), nil
	case text[0] == 'x':
		return hex.DecodeString(unquoted(text[1:]))
	}
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	return strconv.ParseFloat(text, 64)
}

func unquoted(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 1 && strings.IndexByte("'\"", s[0]) >= 0 {
		return strings.ReplaceAll(s[1:len(s)-1], s[:1]+s[:1], s[:1])
	}
	return s
}

// split divides SQL at a sign outside of quotes and parentheses, and leaves comments out. The parts begin
// and end with no space, and an empty last one is left out.
func split(s string, at byte) []string {
	var out []string
	var part strings.Builder
	end := func() { out = append(out, strings.TrimSpace(part.String())); part.Reset() }
	depth := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'' || c == '"':
			n := strings.IndexByte(s[i+1:], c) + 2
			part.WriteString(s[i : i+n])
			i += n - 1
			continue
		case strings.HasPrefix(s[i:], "--"):
			n := strings.IndexByte(s[i:]+"\n", '\n')
			i += n - 1
			continue
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == at && depth == 0:
			end()
			continue
		}
		part.WriteByte(s[i])
	}
	if strings.TrimSpace(part.String()) != "" {
		end()
	}
	return out
}

// statement is the one that creates the table.
func (t *Table) statement() string {
	name := t.Name
	if strings.ContainsAny(name, " .-") {
		name = strconv.Quote(name)
	}
	return "CREATE TABLE " + name + " (" + strings.Join(t.Columns, ", ") + ")" + t.options
}
