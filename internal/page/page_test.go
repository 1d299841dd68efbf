package page_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/page"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

func write(t *testing.T, p *page.Page) string {
	t.Helper()
	var b bytes.Buffer
	if err := p.Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// sample has one of everything, with the given text in each place that takes one.
func sample(text string) *page.Page {
	return &page.Page{
		Title: text, Program: text, Verdict: text, Context: []string{text}, Notes: []string{text},
		Figures: []page.Figure{{Value: text, Name: text}},
		Health: page.Health{Status: trace.HealthStatus(text), Coverage: text,
			Findings: []page.Remark{{Code: text, Message: text}}},
		Sections: []page.Section{{
			ID: text, Title: text, Text: text,
			Timelines: []*page.Timeline{{ID: text, Label: text, Link: text, Span: 100, Kernels: 1,
				Bars: []page.Bar{{Start: 10, End: 20}}, Operators: []string{text}, Streams: []string{text},
				Names: []page.Name{{Short: text, Whole: text}}, Sources: []string{text},
				Passes: []page.Pass{{End: 50, Label: text, Href: text}}, Layers: []page.LayerBar{{End: 40}},
				Gaps:    []page.Gap{{Start: 20, End: 90, Lines: []string{text}}},
				Causes:  []page.Cause{{Name: text, Means: text}},
				Pins:    []page.Pin{{Card: 1, Start: 20, End: 90}},
				Palette: []page.Colour{{Name: text, Variable: "--c1"}}}},
			Cards: []page.Card{{Title: text, Gain: text, Size: 1, Evidence: text, Doubt: text, Fix: text,
				Next: text, Where: text}},
			Falls: []page.Waterfall{{Label: text, Total: text, Text: text,
				Steps: []page.Step{{Name: text, Value: text, Detail: text, To: 2}}}},
			Plots: []page.Plot{{Title: text, Text: text, Values: []float64{1, 2}, Mark: 1, Marked: 1}},
			Heats: []*page.Heat{{Label: text, Text: text, Rows: []string{text}, Columns: []string{text},
				NS: [][]int64{{5}}, Ratio: [][]float64{{1}}}},
			Tables: []page.Table{{Caption: text, Search: true,
				Columns: []page.Column{{Title: text, Help: text, Code: true},
					{Title: text, Numeric: true}},
				Rows: []page.Row{{{Text: text, Lines: []string{text}, Hover: text, Series: true}, {Text: text, Sort: 2}},
					{{Text: "other", Find: text, Strong: true}, {Text: "1", Sort: 1, Bar: .5}},
					{{Text: text, Lines: []string{text}, Folded: true}, {Text: "2", Sort: 1}}}}},
		}},
	}
}

// tags returns the names of the elements and attributes of a page.
func tags(page string) string {
	page = regexp.MustCompile(`(?s)<(style|script)[^>]*>.*?</(style|script)>|<wbr>`).ReplaceAllString(page, "")
	var out []string
	for _, m := range regexp.MustCompile(`(?s)<[^>]*>`).FindAllString(page, -1) {
		out = append(out, regexp.MustCompile(`(?s)"[^"]*"`).ReplaceAllString(m, `""`))
	}
	return strings.Join(out, "\n")
}

func TestHostileTextsChangeNoMarkup(t *testing.T) {
	want := tags(write(t, sample("harmless")))
	for _, text := range []string{
		`<script>alert(1)</script>`, `"><img src=x onerror=alert(1)>`, `'onload='alert(1)`,
		`</title></style></script><script>alert(1)</script>`,
		`{{.Script}}`, `javascript:alert(1)`, `<!--`, `]]>`, "a\x00b\x1b[31m", "\xff\xfe", "\u2028\u2029\u202e",
		`</svg><foreignObject>`, "void f<T, (int)3>(T*, unsigned&)",
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

func TestPolicyAllowsExactlyTheEmbeddedStyleAndScript(t *testing.T) {
	p := write(t, sample("x"))
	policy := regexp.MustCompile(`Content-Security-Policy" content="([^"]*)"`).FindStringSubmatch(p)
	if policy == nil {
		t.Fatal("no content security policy")
	}
	got := html.UnescapeString(policy[1])
	if !strings.HasPrefix(got, "default-src 'none';") || strings.Contains(got, "unsafe") {
		t.Errorf("policy %q, want default-src 'none' and nothing unsafe", got)
	}
	for _, name := range []string{"script", "style"} {
		m := regexp.MustCompile(`(?s)<`+name+`>(.*?)</`+name+`>`).FindAllStringSubmatch(p, -1)
		if len(m) != 1 {
			t.Fatalf("%d elements %s, want 1", len(m), name)
		}
		sum := sha256.Sum256([]byte(m[0][1]))
		if want := name + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
			"'"; !strings.Contains(got, want) {
			t.Errorf("policy %q lacks %q", got, want)
		}
	}
	if strings.Contains(p, " style=") {
		t.Error("the page has an inline style, which its policy refuses")
	}
}

func TestPageAsksForNothing(t *testing.T) {
	p := write(t, sample("x"))
	for _, bad := range []string{"http:", "https:", "src=", "@import", "url(http", "fetch(", "XMLHttpRequest",
		"innerHTML", "eval("} {
		if strings.Contains(p, bad) {
			t.Errorf("the page contains %q: it must need nothing else", bad)
		}
	}
}

// TestSizeIsBounded: whatever a trace holds, a page's tables stay small and say what they left out.
func TestSizeIsBounded(t *testing.T) {
	p := sample("x")
	s := &p.Sections[0]
	long := strings.Repeat("kernel_name_", 100)
	for i := range 100_000 {
		name := fmt.Sprintf("%d%s", i, long)
		s.Tables[0].Add(page.Row{{Text: name}, {Text: "1", Sort: 1}})
		s.Cards = append(s.Cards, page.Card{Title: name})
		p.Notes = append(p.Notes, name)
	}
	out := write(t, p)
	if len(out) > 1_000_000 {
		t.Errorf("page has %d bytes, want less than 1 MB", len(out))
	}
	for _, want := range []string{"99403 more rows are not shown", "99961 more findings are not shown",
		"99961 more remarks are not shown"} {
		if !strings.Contains(out, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

// decode reads varints as the page's script does.
func decode(t *testing.T, s string) []int64 {
	t.Helper()
	b, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	var out []int64
	var v int64
	shift := 0
	for _, c := range b {
		v |= int64(c&127) << shift
		shift += 7
		if c < 128 {
			out = append(out, v)
			v, shift = 0, 0
		}
	}
	return out
}

// The data of two kernels, worked by hand: two pairs, then start after the one before, length, pair and stream.
func TestTimelineDataByHand(t *testing.T) {
	p := &page.Page{Sections: []page.Section{{Timelines: []*page.Timeline{{ID: "t0", Span: 1000, Kernels: 2,
		Operators: []string{"a", "b"}, Streams: []string{"Stream 7", "Stream 8"}, Sources: []string{""},
		Names: []page.Name{{Short: "k", Whole: "kernel"}}, Palette: []page.Colour{{Name: "gemm", Variable: "--c6"}},
		Causes: []page.Cause{{Name: "host-code"}},
		Bars: []page.Bar{{Start: 100, End: 300, Operator: 0, Stream: 0},
			{Start: 250, End: 700, Operator: 1, Stream: 1}},
		Gaps: []page.Gap{{Start: 700, End: 1000, Lines: []string{"why"}}}}}}}}
	m := regexp.MustCompile(`(?s)class="timeline-data" data-for="t0">(.*?)</script>`).FindStringSubmatch(write(t, p))
	if m == nil {
		t.Fatal("no data")
	}
	var data struct {
		Bars, Gaps string
		GapNotes   [][]string
	}
	if err := json.Unmarshal([]byte(m[1]), &data); err != nil {
		t.Fatal(err)
	}
	if got, want := fmt.Sprint(decode(t, data.Bars)), "[2 2 0 0 0 0 0 1 0 0 100 200 0 0 150 450 1 1]"; got != want {
		t.Errorf("bars %s, want %s", got, want)
	}
	if got, want := fmt.Sprint(decode(t, data.Gaps), data.GapNotes), "[700 300 0 1] [[why]]"; got != want {
		t.Errorf("gaps %s, want %s", got, want)
	}
}

// Each cause has a colour of its own in the page's style.
func TestEachCauseHasAColour(t *testing.T) {
	p := write(t, sample("x"))
	seen := map[string]finding.Cause{}
	for _, c := range finding.Causes() {
		v := strings.TrimPrefix(page.CauseColour(c), "--")
		m := regexp.MustCompile(`--` + v + `: (#[0-9a-f]{6});`).FindStringSubmatch(p)
		if m == nil || !strings.Contains(p, "."+v+" { fill: var(--"+v+"); }") {
			t.Errorf("%v has no colour", c)
			continue
		}
		if other, ok := seen[m[1]]; ok {
			t.Errorf("%v and %v share %s", c, other, m[1])
		}
		seen[m[1]] = c
	}
}

// A chart has a column a value, as high as its share of the largest; those of a change are a path of their own. Of more
// values than fit, the largest of neighbours are drawn.
func TestPlotByHand(t *testing.T) {
	draw := func(p page.Plot) []string {
		out := write(t, &page.Page{Sections: []page.Section{{Plots: []page.Plot{p}}}})
		m := regexp.MustCompile(`<path class="whole" d="(.*?)"/><path class="win" d="(.*?)"/>`).FindStringSubmatch(out)
		if m == nil {
			t.Fatal("no chart")
		}
		return m[1:]
	}
	if got := draw(page.Plot{Values: []float64{1, 0, 4}, Mark: 2, Marked: 1}); got[0] != "M0 40v-10h0.88v10z" ||
		got[1] != "M2 40v-40h0.88v40z" {
		t.Errorf("1, 0, 4 is drawn %q", got)
	}
	many := make([]float64, 8000)
	many[4321] = 2
	if got := draw(page.Plot{Values: many}); got[0] != "M4320 40v-40h8.8v40z" || got[1] != "" {
		t.Errorf("one of 8,000 values is drawn %q", got)
	}
	if out := write(t, &page.Page{Sections: []page.Section{{Plots: []page.Plot{{Title: "t",
		Values: []float64{0}}}}}}); strings.Contains(out, "<figure") {
		t.Error("nothing but zeros is drawn")
	}
}
