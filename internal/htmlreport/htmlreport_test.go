package htmlreport_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"html"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/htmlreport"
)

func write(t *testing.T, r *htmlreport.Report) string {
	t.Helper()
	var b bytes.Buffer
	if err := r.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sample has one of everything, with the given text in every place that takes
// one.
func sample(text string) *htmlreport.Report {
	chart := func() *htmlreport.Chart {
		return &htmlreport.Chart{Label: text, Unit: "ms", MarkName: text, Series: []string{text, "b"},
			Stacks: []htmlreport.Stack{{Label: text, Detail: text, Parts: []float64{1, 2}, Mark: 4}, {Label: "1", Parts: []float64{3}}}}
	}
	return &htmlreport.Report{
		Title: text, Program: text, Summary: text, Notes: []string{text}, Facts: []htmlreport.Fact{{Name: text, Value: text}},
		Health: htmlreport.Health{Status: text, Findings: []htmlreport.Finding{{Code: text, Severity: text, Message: text}}},
		Sections: []htmlreport.Section{{
			Title: text, Text: text, Columns: chart(), Shares: chart(),
			Bars:  []htmlreport.Bars{{Label: text, Unit: text, Rows: []htmlreport.Bar{{Label: text, Value: text, Detail: text, Series: text, To: 2}, {Label: "b", Series: "b", From: 2, To: 5}}}},
			Strip: &htmlreport.Strip{Label: text, EndMS: 10, Spans: []htmlreport.Span{{Label: text, Detail: text, Series: text, StartMS: 1, EndMS: 9, Marked: true}}},
			Tables: []htmlreport.Table{{Caption: text, Search: true, Columns: []htmlreport.Column{{Title: text, Code: true, Filter: true}, {Title: text, Numeric: true}},
				Rows: [][]htmlreport.Cell{{{Text: text, Lines: []string{text}, Series: true}, {Text: text, Sort: 2}}, {{Text: "other", Strong: true}, {Text: "1", Sort: 1}}}}},
		}},
	}
}

// tags returns the names of the elements and attributes of a page.
func tags(page string) string {
	page = regexp.MustCompile(`(?s)<(style|script)>.*?</(style|script)>|<wbr>`).ReplaceAllString(page, "")
	var out []string
	for _, m := range regexp.MustCompile(`(?s)<[^>]*>`).FindAllString(page, -1) {
		out = append(out, regexp.MustCompile(`(?s)"[^"]*"`).ReplaceAllString(m, `""`))
	}
	return strings.Join(out, "\n")
}

func TestHostileTextsChangeNoMarkup(t *testing.T) {
	want := tags(write(t, sample("harmless")))
	for _, text := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'onload='alert(1)`, `</title></style></script><script>alert(1)</script>`,
		`{{.Script}}`, `javascript:alert(1)`, `<!--`, `]]>`, "a\x00b\x1b[31m", "\xff\xfe", "\u2028\u2029\u202e", `</svg><foreignObject>`, "void f<T, (int)3>(T*, unsigned&)",
	} {
		page := write(t, sample(text))
		if got := tags(page); got != want {
			t.Errorf("%q: the page's elements changed:\n%s", text, got)
		}
		if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img") {
			t.Errorf("%q came through unescaped", text)
		}
		if strings.ContainsAny(page, "\x00\x1b") {
			t.Errorf("%q: control characters in the page", text)
		}
	}
}

func TestPolicyAllowsExactlyTheEmbeddedScript(t *testing.T) {
	page := write(t, sample("x"))
	m := regexp.MustCompile(`(?s)<script>(.*?)</script>`).FindAllStringSubmatch(page, -1)
	if len(m) != 1 {
		t.Fatalf("%d scripts, want 1", len(m))
	}
	sum := sha256.Sum256([]byte(m[0][1]))
	p := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(page)
	if p == nil {
		t.Fatal("no content security policy")
	}
	want := "script-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	if policy := html.UnescapeString(p[1]); !strings.Contains(policy, want) || !strings.HasPrefix(policy, "default-src 'none';") {
		t.Errorf("policy %q, want default-src 'none' and %q", policy, want)
	}
}

func TestPageAsksForNothing(t *testing.T) {
	page := write(t, sample("x"))
	for _, bad := range []string{"http:", "https:", "src=", "@import", "url("} {
		if strings.Contains(page, bad) {
			t.Errorf("the page contains %q: it must need nothing else", bad)
		}
	}
}

// TestSizeIsBounded: whatever a trace holds, the page stays small and says what
// it left out.
func TestSizeIsBounded(t *testing.T) {
	r := sample("x")
	s := &r.Sections[0]
	long := strings.Repeat("kernel_name_", 100)
	for i := range 100_000 {
		name := fmt.Sprintf("%d%s", i, long)
		s.Strip.Spans = append(s.Strip.Spans, htmlreport.Span{Label: name, Series: fmt.Sprint("stage", i%2), StartMS: float64(i), EndMS: float64(i) + 0.5})
		s.Tables[0].Rows = append(s.Tables[0].Rows, []htmlreport.Cell{{Text: name}, {Text: "1", Sort: 1}})
		s.Columns.Stacks = append(s.Columns.Stacks, htmlreport.Stack{Label: name, Parts: []float64{1, 1}})
		s.Shares.Stacks = append(s.Shares.Stacks, htmlreport.Stack{Label: name, Parts: []float64{1, 1}})
		r.Notes = append(r.Notes, name)
	}
	page := write(t, r)
	if len(page) > 1_000_000 {
		t.Errorf("page has %d bytes, want less than 1 MB", len(page))
	}
	for _, want := range []string{"more rows are not shown", "more are not drawn"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestStripJoinsNeighboursOfOneKindOnly(t *testing.T) {
	r := &htmlreport.Report{Sections: []htmlreport.Section{{Strip: &htmlreport.Strip{Label: "passes"}}}}
	s := r.Sections[0].Strip
	for i := range 5000 {
		series := "decode"
		if i == 2500 {
			series = "prefill"
		}
		s.Spans = append(s.Spans, htmlreport.Span{Label: fmt.Sprint(i), Series: series, StartMS: float64(i), EndMS: float64(i) + 0.9, Marked: i == 40})
	}
	page := write(t, r)
	if n := strings.Count(page, `<rect class="c0`); n > 900 || n < 2 {
		t.Errorf("%d rectangles of decode, want a few hundred", n)
	}
	if n := strings.Count(page, `class="c1" x=`); n != 1 {
		t.Errorf("%d rectangles of prefill, want the one there is", n)
	}
	if n := strings.Count(page, `class="marked"`); n != 1 {
		t.Errorf("%d marked rectangles, want 1", n)
	}
	if !strings.Contains(page, "Neighbours were joined") {
		t.Error("the page does not say that it joined spans")
	}
}

func TestOddNumbersMakeNoOddPages(t *testing.T) {
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64} {
		r := sample("x")
		s := &r.Sections[0]
		s.Columns.Stacks[0].Parts[0], s.Columns.Stacks[0].Mark = v, v
		s.Shares.Stacks[0].Parts[0] = v
		s.Strip.EndMS, s.Strip.Spans[0].StartMS, s.Strip.Spans[0].EndMS = v, v, v
		s.Tables[0].Rows[0][1].Sort = v
		page := write(t, r)
		if m := regexp.MustCompile(`="[^"]*(NaN|Inf)`).FindString(page); m != "" {
			t.Errorf("%v shows in the page: %s", v, m)
		}
	}
}

func TestEmptyReport(t *testing.T) {
	page := write(t, &htmlreport.Report{Sections: []htmlreport.Section{{Strip: &htmlreport.Strip{}, Columns: &htmlreport.Chart{}, Shares: &htmlreport.Chart{}, Tables: []htmlreport.Table{{}}}}})
	if !strings.Contains(page, "</html>") {
		t.Error("the page of an empty report is not whole")
	}
}

func TestTablesHaveHeadersAndSortKeys(t *testing.T) {
	page := write(t, sample("x"))
	for _, want := range []string{`<th scope="col" class="code">x</th>`, `<td class="n" data-sort="2">x</td>`, "<caption>x", `<option>other</option>`, `aria-live="polite"`, `<html lang="en">`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
}

// TestCodeIsBrokenAfterPunctuation: a line may be broken where <wbr> stands, and
// what is copied from the page is the name itself.
func TestCodeIsBrokenAfterPunctuation(t *testing.T) {
	for name, want := range map[string]string{
		"short":                              "short",
		"python/sglang/srt/models/qwen.py":   "python/<wbr>sglang/<wbr>srt/models/<wbr>qwen.py",
		"void cutlass::Kernel<float, int>":   "void cutlass::<wbr>Kernel&lt;<wbr>float,<wbr> int&gt;",
		"abcdefghijklmnopqrstuvwxyz01234567": "abcdefghijklmnopqrstuvwxyz<wbr>01234567",
	} {
		r := &htmlreport.Report{Sections: []htmlreport.Section{{Tables: []htmlreport.Table{{
			Columns: []htmlreport.Column{{Title: "k", Code: true}, {Title: "p"}}, Rows: [][]htmlreport.Cell{{{Text: name}, {Text: name}}}}}}}}
		page := write(t, r)
		if cell := `<td class="code">` + want + `</td>`; !strings.Contains(page, cell) {
			t.Errorf("the page lacks %s", cell)
		}
		if cell := `<td>` + html.EscapeString(name) + `</td>`; !strings.Contains(page, cell) {
			t.Errorf("a column without code lacks %s", cell)
		}
	}
}

func TestManyLinesOfACellAreCounted(t *testing.T) {
	r := &htmlreport.Report{Sections: []htmlreport.Section{{Tables: []htmlreport.Table{{
		Columns: []htmlreport.Column{{Title: "k"}}, Rows: [][]htmlreport.Cell{{{Lines: strings.Split(strings.Repeat("x", 20), "")}}}}}}}}
	if page := write(t, r); strings.Count(page, "<div>x</div>") != 8 || !strings.Contains(page, "<div>… 12 more</div>") {
		t.Errorf("the cell is not cut to 8 lines and a count: %s", page[strings.Index(page, "<tbody>"):])
	}
}

// A column of a waterfall begins at its base: the same part stands higher, and the axis reaches its top.
func TestColumnsHangInTheAir(t *testing.T) {
	draw := func(base float64) string {
		ch := &htmlreport.Chart{Label: "x", Unit: "ms", Series: []string{"part"}, Stacks: []htmlreport.Stack{{Label: "a", Parts: []float64{8}}, {Label: "b", Parts: []float64{2}, Base: base}}}
		r := htmlreport.Report{Title: "t", Sections: []htmlreport.Section{{Title: "s", Columns: ch}}}
		var b bytes.Buffer
		if err := r.Write(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if ground, air := draw(0), draw(5); ground == air || !strings.Contains(air, ">8 ms<") {
		t.Errorf("a base of 5 below a top of 8 is not drawn on the same axis")
	}
	if high := draw(18); !strings.Contains(high, ">20 ms<") {
		t.Errorf("the axis does not reach a column from 18 to 20")
	}
}

// Each bar of a waterfall begins where the one above ends, and all of them fit on the page, also such as have no sensible size.
func TestBarsFollowEachOther(t *testing.T) {
	rows := []htmlreport.Bar{{Label: "a", Value: "1 ms", Series: "floor", To: 1}, {Label: "b", Value: "3 ms", Series: "above", From: 1, To: 4}, {Label: "c", Value: "0 ms", Series: "above", From: 4, To: 4}}
	page := write(t, &htmlreport.Report{Sections: []htmlreport.Section{{Title: "t", Bars: []htmlreport.Bars{{Label: "w", Unit: "ms", Rows: rows}}}}})
	paths := regexp.MustCompile(`<path class="c\d+" d="M([\d.]+) ([\d.]+)h([\d.]+)v`).FindAllStringSubmatch(page, -1)
	if len(paths) != 2 { // nothing is drawn for nothing
		t.Fatalf("%d bars, want 2", len(paths))
	}
	number := func(s string) float64 {
		var f float64
		fmt.Sscan(s, &f)
		return f
	}
	if end := number(paths[0][1]) + number(paths[0][3]); math.Abs(end-number(paths[1][1])) > 0.02 {
		t.Errorf("the first bar ends at %v, the second begins at %s", end, paths[1][1])
	}
	if w := number(paths[1][3]) / number(paths[0][3]); math.Abs(w-3) > 0.01 {
		t.Errorf("the second is %v times as long, want 3", w)
	}
	odd := []htmlreport.Bar{{Label: "n", To: math.NaN()}, {Label: "i", To: math.Inf(1)}, {Label: "m", From: -5, To: -1}}
	page = write(t, &htmlreport.Report{Sections: []htmlreport.Section{{Title: "t", Bars: []htmlreport.Bars{{Rows: odd}, {}}}}})
	page, _, _ = strings.Cut(page, "<script>")
	if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
		t.Error("the page holds numbers that are none")
	}
}
