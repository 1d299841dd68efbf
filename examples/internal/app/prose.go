package app

import (
	"bytes"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/table"
)

// prose breaks lines of running text that are too long for the terminal, between words, and cuts rules of dashes.
// Text after a label and two spaces is indented below itself. It leaves documents, rows of tables (two spaces more
// than once) and coloured lines (their writer knows the width) as they are.
type prose struct {
	w     io.Writer
	width int
	line  []byte // begun, without its end
	begun bool   // something was written
	raw   bool   // it is no text
}

// Write implements io.Writer.
func (p *prose) Write(b []byte) (int, error) {
	if first := bytes.TrimLeft(b, " \r\n"); !p.begun && len(first) > 0 {
		p.begun, p.raw = true, first[0] == '{' || first[0] == '['
	}
	if p.raw {
		return p.w.Write(b)
	}
	n := len(b)
	for {
		at := bytes.IndexByte(b, '\n')
		if at < 0 {
			p.line = append(p.line, b...)
			return n, nil
		}
		p.line = append(p.line, b[:at]...)
		if _, err := io.WriteString(p.w, p.fit(string(p.line))+"\n"); err != nil {
			return 0, err
		}
		p.line, b = p.line[:0], b[at+1:]
	}
}

// end writes a last line that has no end.
func (p *prose) end() error {
	_, err := p.w.Write(p.line)
	return err
}

// command is text that is to be copied to a command line.
var command = regexp.MustCompile("^(?:- |next: )*`?strata ")

// fit breaks one line.
func (p *prose) fit(line string) string {
	text := strings.TrimLeft(line, " ")
	first := line[:len(line)-len(text)]
	indent := first + "  "
	if label, rest, ok := strings.Cut(text, "  "); ok {
		text = strings.TrimLeft(rest, " ")
		first = line[:len(line)-len(text)]
		indent = strings.Repeat(" ", utf8.RuneCountInString(first))
		if label == "" || strings.Contains(text, "  ") {
			return line
		}
	}
	switch {
	case utf8.RuneCountInString(line) <= p.width || command.MatchString(text):
		return line
	case strings.Contains(line, "\x1b") || len(indent) > p.width/2:
		return line
	case strings.Trim(text, "-") == "":
		return line[:p.width]
	}
	var out strings.Builder
	out.WriteString(first)
	at := utf8.RuneCountInString(first)
	short := strings.HasSuffix(text, "...") // of a name that is cut in any case
	for i, word := range strings.Split(text, " ") {
		n := utf8.RuneCountInString(word)
		if room := p.width - len(indent); short && n > room {
			word, n = table.Cut(word, room), room
		}
		switch {
		case i > 0 && at+1+n > p.width:
			out.WriteString("\n" + indent)
			at = len(indent)
		case i > 0:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += n
	}
	return out.String()
}
