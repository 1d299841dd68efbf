package app

import (
	"bufio"
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/internal/table"
)

// formats are the forms of the program's results: a program that writes JSON and text writes Markdown, too; see
// [table.Writer].
func (p Program) formats() []Format {
	out := slices.Clone(p.Formats)
	if slices.Contains(out, JSON) && !slices.Contains(out, Markdown) {
		out = append(out, Markdown)
	}
	return out
}

// ShortMarkdown is what else --format markdown may be called.
const ShortMarkdown Format = "md"

// documentFlags defines what documents are cut by, for programs that write one.
func (p Program) documentFlags(fs *flag.FlagSet, env *Env) {
	if !slices.Contains(p.formats(), JSON) {
		return
	}
	fs.IntVar(&env.cut.Limit, "limit", 0, "`N`: rows of each list in json and markdown (default: all)")
	fs.Func("fields", "`NAMES`: fields to keep in json and markdown, e.g. findings,health", func(s string) error {
		for f := range strings.SplitSeq(s, ",") {
			if f = strings.TrimSpace(f); f == "" {
				return fmt.Errorf("want names with commas between them")
			}
			env.cut.Fields = append(env.cut.Fields, f)
		}
		return nil
	})
	fs.Func("budget", "`SIZE`: keep what matters most within so many characters, e.g. 8k", func(s string) (err error) {
		env.cut.Budget, err = characters(s)
		return err
	})
}

// characters reads a number of characters: 8000, 8k.
func characters(s string) (int, error) {
	digits, factor := strings.ToLower(s), 1
	for _, u := range []struct {
		ending string
		factor int
	}{{"k", 1e3}, {"m", 1e6}} {
		if rest, ok := strings.CutSuffix(digits, u.ending); ok {
			digits, factor = rest, u.factor
		}
	}
	n, err := strconv.Atoi(digits)
	const least, most = 500, 1e9
	if err != nil || n < 0 || n > most/factor || n*factor < least {
		return 0, fmt.Errorf("want a number of characters from %d on, such as 8k", least)
	}
	return n * factor, nil
}

// checkCut refuses cuts of what is no document.
func (e *Env) checkCut() error {
	if e.cut.Any() && e.Format == AutoFormat {
		e.Format = Markdown
	}
	switch {
	case e.cut.Limit < 0:
		return fmt.Errorf("--limit %d: want a positive number, or 0 for all", e.cut.Limit)
	case e.cut.Any() && e.Format != JSON && e.Format != Markdown:
		return fmt.Errorf("--limit, --fields and --budget are for --format json and markdown")
	}
	return nil
}

// Document reports whether results are to be written as a document, with [Env.WriteJSON]: as JSON, and as Markdown
// where a part of the document is asked for, which no program has words for.
func (e *Env) Document() bool { return e.Format == JSON || e.Format == Markdown && e.cut.Any() }

// WriteJSON writes one document to Stdout, as JSON or as Markdown, cut as the user asks; see [WriteJSON].
func (e *Env) WriteJSON(v any) error {
	if e.Format == JSON && !e.cut.Any() {
		return WriteJSON(e.Stdout, v)
	}
	var b bytes.Buffer
	if err := WriteJSON(&b, v); err != nil {
		return err
	}
	form := (*ShapedDocument).JSON
	if e.Format == Markdown {
		form = (*ShapedDocument).Markdown
	}
	return e.shaped(b.Bytes(), form)
}

// shaped writes a part of a document.
func (e *Env) shaped(doc []byte, form func(*ShapedDocument) string) error {
	if err := WriteShaped(e.Stdout, doc, e.cut, form); err != nil {
		return Usagef("%w", err)
	}
	return nil
}

// WriteParts writes one document to Stdout: as JSON, or in the words of write, which has words for parts of the
// document, too.
func WriteParts[T any](e *Env, v *T, write func(*T, io.Writer) error) error {
	switch {
	case e.Format == JSON:
		return e.WriteJSON(v)
	case !e.cut.Any():
		return write(v, e.Stdout)
	}
	var b bytes.Buffer
	if err := WriteJSON(&b, v); err != nil {
		return err
	}
	var failed error
	err := e.shaped(b.Bytes(), func(d *ShapedDocument) string {
		var part T
		out := output{Writer: bufio.NewWriter(nil), markdown: true}
		var text strings.Builder
		out.Reset(&text)
		failed = cmp.Or(failed, json.Unmarshal([]byte(d.JSON()), &part), write(&part, &out))
		w := table.NewWriter(&out)
		table.List(w, "Left out", d.Omitted(), len(d.Omitted()), func(o Omission) []string {
			return []string{o.At, table.Count(int64(o.Total)), table.Count(int64(o.Omitted))}
		}, table.Text("List"), table.Number("Rows"), table.Number("Left out"))
		failed = cmp.Or(failed, w.Flush(), out.Flush())
		return text.String()
	})
	return cmp.Or(failed, err)
}
