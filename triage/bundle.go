package triage

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/mask"
	"github.com/llmstrata/strata/internal/table"
)

// Errors of a bundle: of reports that do not exist, all listed in the text, and of a directory without any.
var (
	errMissingReports = errors.New("triage: reports not found")
	errNoReports      = errors.New("no *.md or *.txt below it opens with the head of a triage report")
)

// BundleEntry is one report of a bundle, or a directory of them.
type BundleEntry struct {
	// Label heads the report's section. "": its model, else that of the reports in its directory, else the
	// directory's name.
	Label string
	// Path is that of a report, or of a directory: it means the reports below it, in lexical order, which are
	// the files
	// *.md and *.txt that open with a triage head.
	Path string
	Name string // of the report within its section; "": its framework
}

// Bundle joins Markdown triage reports into one document.
type Bundle struct {
	Title   string // first heading
	Entries []BundleEntry
	TOC     bool      // write a table of contents
	Time    time.Time // generation time; the zero time is not printed
}

// bundlePart is one report as it was read.
type bundlePart struct {
	entry     BundleEntry
	heading   string // the model
	model     string // as the report says
	framework string
	lines     []string
}

// expand is an entry, or, of a directory, one for each report below it.
func (e BundleEntry) expand() ([]BundleEntry, error) {
	if fi, err := os.Stat(e.Path); err != nil || !fi.IsDir() {
		return []BundleEntry{e}, nil // reading it says what is wrong
	}
	var out []BundleEntry
	err := filepath.WalkDir(e.Path, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		ok, err := isReport(path)
		if err == nil && ok {
			out = append(out, BundleEntry{Label: e.Label, Path: path, Name: e.Name})
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("triage: %w", err)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("triage: %s: %w", e.Path, errNoReports)
	}
	return out, nil
}

// read reads the reports, in the order of the document: sections by their first entries, frameworks within one
// in a fixed order.
func (b *Bundle) read() ([]bundlePart, error) {
	var parts []bundlePart
	var missing []string
	for _, entry := range b.Entries {
		files, err := entry.expand()
		if err != nil {
			return nil, err
		}
		for _, e := range files {
			text, err := readReport(e.Path)
			if errors.Is(err, fs.ErrNotExist) {
				missing = append(missing, e.Path)
				continue
			}
			if err != nil {
				return nil, fmt.Errorf("triage: %w", err)
			}
			parts = append(parts, readPart(e, text))
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%w: %s", errMissingReports, strings.Join(missing, ", "))
	}
	nameParts(parts)
	first := map[string]int{}
	for i, p := range parts {
		if _, ok := first[p.heading]; !ok {
			first[p.heading] = i
		}
	}
	slices.SortStableFunc(parts, func(x, y bundlePart) int {
		return cmp.Or(cmp.Compare(first[x.heading], first[y.heading]),
			cmp.Compare(frameworkOrder(x.framework), frameworkOrder(y.framework)))
	})
	return parts, nil
}

func frameworkOrder(name string) int {
	for i, f := range frameworks {
		if f.Name == name && f.Server() {
			return i
		}
	}
	return len(frameworks)
}

// nameParts gives the parts their headings.
func nameParts(parts []bundlePart) {
	models := map[string]string{} // by directory; "" where reports disagree
	for _, p := range parts {
		dir := filepath.Dir(absolute(p.entry.Path))
		if m, ok := models[dir]; p.model != "" && (!ok || m == p.model) {
			models[dir] = p.model
		} else if p.model != "" {
			models[dir] = ""
		}
	}
	for i := range parts {
		p := &parts[i]
		dir := filepath.Dir(absolute(p.entry.Path))
		p.heading = cmp.Or(p.entry.Label, p.model, models[dir], filepath.Base(dir))
	}
}

func readPart(e BundleEntry, text string) bundlePart {
	p := bundlePart{entry: e, lines: strings.Split(strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n"),
		"\n")}
	for _, l := range p.lines {
		if strings.HasPrefix(l, "|") {
			break // the head is over
		}
		if v, ok := strings.CutPrefix(l, "Model: "); ok && p.model == "" {
			p.model = strings.TrimSpace(v)
		}
		if v, ok := strings.CutPrefix(l, "Framework: "); ok && p.framework == "" {
			p.framework = strings.TrimSpace(v)
		}
	}
	return p
}

func absolute(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// WriteMarkdown reads the reports and writes the bundle: title, time, contents, then a section per
// model with a subsection per report. Headings of the reports are moved down.
// Nothing is written where reports are missing; the error lists all of them.
func (b *Bundle) WriteMarkdown(w io.Writer) error {
	parts, err := b.read()
	if err != nil {
		return err
	}
	private := mask.NewWriter(w)
	m := &page{w: table.NewCleaner(private)}
	m.printf("# %s\n", b.Title)
	if !b.Time.IsZero() {
		m.printf("\nGenerated: %s\n", b.Time.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if b.TOC {
		m.printf("\n## Contents\n\n")
		slugs := map[string]int{"contents": 1}
		last := ""
		for _, p := range parts {
			if p.heading != last {
				m.printf("- [%s](#%s)\n", p.heading, slug(p.heading, slugs))
				last = p.heading
			}
			m.printf("  - [%s](#%s)\n", table.Clean(p.title()), slug(p.title(), slugs))
		}
	}
	last := ""
	for _, p := range parts {
		if p.heading != last {
			m.printf("\n## %s\n", table.Clean(p.heading))
			last = p.heading
		}
		m.printf("\n### %s\n\nSource: `%s`\n\n", table.Clean(p.title()), table.Clean(p.entry.Path))
		fenced := false
		for _, l := range p.lines {
			if strings.HasPrefix(l, "```") {
				fenced = !fenced
			}
			if !fenced && strings.HasPrefix(l, "#") {
				l = lower(l)
			}
			m.printf("%s\n", l)
		}
	}
	return cmp.Or(m.err, private.Flush())
}

// title heads a report within its section.
func (p *bundlePart) title() string {
	return cmp.Or(p.entry.Name, p.framework, strings.TrimSuffix(filepath.Base(p.entry.Path),
		filepath.Ext(p.entry.Path)))
}

// lower moves a heading three levels down, at most to the sixth.
func lower(heading string) string {
	n := len(heading) - len(strings.TrimLeft(heading, "#"))
	return strings.Repeat("#", min(n+3, 6)) + heading[n:]
}

// slug is the anchor that GitHub gives a heading; used counts repeats.
func slug(heading string, used map[string]int) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '-', r == '_', r > 127:
			b.WriteRune(r)
		case r == ' ':
			b.WriteByte('-')
		}
	}
	s := b.String()
	used[s]++
	if n := used[s]; n > 1 {
		return fmt.Sprintf("%s-%d", s, n-1)
	}
	return s
}

// maxReport bounds a report, in bytes: those of 16 ranks have some hundred kB.
const maxReport = 16 << 20

// reportEndings are those of files of published reports, which open with reportTitle.
var reportEndings = []string{".md", ".txt"}

const reportTitle = "Triage View"

// isReport reports whether a file is one of a report: *.md or *.txt that opens with a
// triage head.
func isReport(path string) (bool, error) {
	ext := strings.ToLower(filepath.Ext(path))
	if fi, err := os.Stat(path); !slices.Contains(reportEndings, ext) || err != nil || !fi.Mode().IsRegular() {
		return false, nil // a link to nothing, a pipe, whose writer may never come
	}
	f, err := atomicfile.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	sc := bufio.NewScanner(io.LimitReader(f, 4096))
	for n := 0; n < 5 && sc.Scan(); n++ {
		if strings.TrimLeft(sc.Text(), "# ") == reportTitle {
			return true, nil
		}
	}
	return false, nil
}

// readReport reads a file of text. What is larger than a report, or holds what moves a
// terminal's cursor, is refused.
func readReport(path string) (string, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxReport+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > maxReport:
		return "", fmt.Errorf("%s is no report: it has more than %d MB", path, maxReport>>20)
	}
	text := string(data)
	control := func(c rune) bool { return unicode.IsControl(c) && !strings.ContainsRune("\n\r\t", c) }
	if strings.ContainsFunc(text, control) {
		return "", fmt.Errorf("%s is no report: it holds control characters", path)
	}
	return text, nil
}
