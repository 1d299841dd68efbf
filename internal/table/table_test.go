package table_test

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/table"
)

func sample() *table.Table {
	t := table.New(table.Text("Kernel").Limit(12), table.Number("us"), table.Text("★ Label"))
	t.Row("gemm", "12.5", "● AR")
	t.Rule()
	t.Row("a_very_long_kernel<int>", "7", "a|b")
	t.Row("esc\x1b[31m\n", "1")
	return t
}

func TestWriteText(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteText(&b); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"Kernel          us  ★ Label\n" +
		"---------------------------\n" +
		"gemm          12.5  ● AR\n" +
		"---------------------------\n" +
		"a_very_lo...     7  a|b\n" +
		"esc\ufffd[31m         1\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("WriteText (-want +got):\n%s", diff)
	}
}

func TestWriteMarkdown(t *testing.T) {
	var b strings.Builder
	if err := sample().WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	want := "" +
		"| Kernel | us | ★ Label |\n" +
		"| --- | ---: | --- |\n" +
		"| gemm | 12.5 | ● AR |\n" +
		"| a_very_long_kernel\\<int> | 7 | a\\|b |\n" +
		"| esc\ufffd\\[31m  | 1 |  |\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("WriteMarkdown (-want +got):\n%s", diff)
	}
	if got := sample().Len(); got != 3 {
		t.Errorf("Len() = %d, want 3: rules are not rows", got)
	}
}

// failing is a writer that fails at once.
type failing struct{}

var errFull = errors.New("no space")

func (failing) Write([]byte) (int, error) { return 0, errFull }

func TestWriterErrorsComeBack(t *testing.T) {
	c := table.NewCSV(failing{})
	c.Header("a")
	for name, err := range map[string]error{
		"text":     sample().WriteText(failing{}),
		"markdown": sample().WriteMarkdown(failing{}),
		"csv":      c.Flush(),
	} {
		if !errors.Is(err, errFull) {
			t.Errorf("%s: error %v, want %v", name, err, errFull)
		}
	}
}

func TestNumbers(t *testing.T) {
	const ns = time.Duration(1)
	for _, c := range []struct{ got, want string }{
		{table.Fixed(1.005, 1), "1.0"},
		{table.Fixed(-0.001, 2), "0.00"},
		{table.Fixed(-0.5, 1), "-0.5"},
		{table.Fixed(math.NaN(), 1), "-"},
		{table.Fixed(math.Inf(-1), 1), "-"},
		{table.Seconds(999_950_000*ns, 1), "1.0"},
		{table.Seconds(-1*ns, 9), "-0.000000001"},
		{table.Seconds(-1*ns, 0), "0"},
		{table.Seconds(7*ns, 12), "0.000000007"},
		{table.Seconds(1_500_000_000*ns, 0), "2"},
		{table.Seconds(12_345_678_901*ns, 3), "12.346"},
		{table.Seconds(math.MinInt64, 9), "-9223372036.854775808"},
		{table.Seconds(math.MaxInt64, 0), "9223372037"},
		{table.Percent(1, 8, 1), "12.5"},
		{table.Percent(1, 0, 1), "-"},
		{table.Count(0), "0"},
		{table.Count(999), "999"},
		{table.Count(-1234567), "-1,234,567"},
		{table.Count(math.MinInt64), "-9,223,372,036,854,775,808"},
		{table.Bytes(1023), "1.02 kB"},
		{table.Bytes(1536), "1.54 kB"},
		{table.Bytes(math.MaxInt64), "9.22 EB"},
		{table.Cut("ββββββ", 5), "ββ..."},
		{table.Cut("abc", 3), "abc"},
		{table.Cut("abcd", 3), "abc"},
		{table.Cut("abcd", 0), ""},
		{table.Clean("a\tb\x00c\xff\u202ed"), "a b\ufffdc\ufffd\ufffdd"},
		{table.EscapeMarkdown("_a_b_*"), "\\_a_b\\_\\*"},
	} {
		if c.got != c.want {
			t.Errorf("got %q, want %q", c.got, c.want)
		}
	}
}

func TestCSVReadsBackTheSame(t *testing.T) {
	cells := []string{"", "plain", "a,b", `say "x"`, "line\nbreak", " lead", "tab\t", `"`, "a\rb", `,","`}
	var b strings.Builder
	w := table.NewCSV(&b)
	w.Header(cells...)
	w.Int(-5)
	w.Float(0.25)
	w.Float(1e21)
	w.End()
	for _, c := range cells {
		w.Cell(table.Quoted(c))
	}
	w.End()
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	r := csv.NewReader(strings.NewReader(b.String()))
	r.FieldsPerRecord = -1
	got, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	want := [][]string{cells, {"-5", "0.25", "1000000000000000000000"}, cells}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows read back (-want +got):\n%s", diff)
	}
}

func TestCSVAllocatesNothingPerRow(t *testing.T) {
	w := table.NewCSV(discard{})
	allocs := testing.AllocsPerRun(100, func() {
		w.Int(123456789)
		w.String(`void f<a, "b">`)
		w.End()
	})
	if allocs != 0 {
		t.Errorf("%v allocations a row, want 0", allocs)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// TestNamesHaveRoom: a name longer than its column goes on in the next line, and a table that has less room for it than
// can be read goes on below itself.
func TestNamesHaveRoom(t *testing.T) {
	const width, least = 80, 26
	const rest = len(" ") + len(" ") + len("1")
	for room := least - 1; room <= least+1; room++ {
		tab := table.New(table.Code("Kernel"), table.Number("ns"), table.Number("n"))
		tab.Row(strings.Repeat("k", 60)+"_tile", strings.Repeat("9", width-rest-room), "1")
		var b strings.Builder
		if err := tab.WriteFit(&b, width); err != nil {
			t.Fatal(err)
		}
		if parts := strings.Count(b.String(), "---\n"); (parts > 1) != (room < least) {
			t.Errorf("room for %d characters: %d tables\n%s", room, parts, &b)
		}
	}
}

func TestWriteFit(t *testing.T) {
	tab := table.New(table.Code("Kernel"), table.Number("us"), table.Path("Line"))
	tab.Row("a_kernel_with_a_long_name", "12.5", table.Lines("python/pkg/layers/norm.py:12 forward", "short"))
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, "" +
			"Kernel                       us  Line\n" +
			"---------------------------------------------------------------------\n" +
			"a_kernel_with_a_long_name  12.5  python/pkg/layers/norm.py:12 forward\n" +
			"                                 short\n"},
		{50, "" + // the name is whole before the line is
			"Kernel                       us  Line\n" +
			"--------------------------------------------------\n" +
			"a_kernel_with_a_long_name  12.5  norm.py:12\n" +
			"                                 forward\n" +
			"                                 short\n"},
		{31, "" + // no narrower than can be read
			"Kernel         us Line\n" +
			"-------------------------------\n" +
			"a_kernel_    12.5 norm.py:12\n" +
			"with_a_long_      forward\n" +
			"name              short\n"},
		{29, "" + // the columns below each other instead
			"Kernel                     us\n" +
			"-----------------------------\n" +
			"a_kernel_with_a_long_    12.5\n" +
			"name\n" +
			"\n" +
			"Kernel        Line\n" +
			"-----------------------------\n" +
			"a_kernel_     norm.py:12\n" +
			"with_a_long_  forward\n" +
			"name          short\n"},
	} {
		var b strings.Builder
		if err := tab.WriteFit(&b, c.width); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, b.String()); diff != "" {
			t.Errorf("width %d (-want +got):\n%s", c.width, diff)
		}
	}
	var b strings.Builder
	if err := tab.WriteMarkdown(&b); err != nil {
		t.Fatal(err)
	}
	if want := "| `a_kernel_with_a_long_name` | 12.5 | `python/pkg/layers/norm.py:12 forward`<br>`short` |\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("Markdown %q does not end with %q", b.String(), want)
	}
}

func TestCodeSpan(t *testing.T) {
	for in, want := range map[string]string{"": "", "f<int>_x": "`f<int>_x`", "a`b": "``a`b``", "`a": "`` `a ``",
		"a|b\n": "`a\\|b `"} {
		if got := table.CodeSpan(in); got != want {
			t.Errorf("CodeSpan(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestCutStart(t *testing.T) {
	for _, c := range []struct {
		in   string
		max  int
		want string
	}{{"abcdef", 6, "abcdef"}, {"abcdefg", 6, "...efg"}, {"äöüß", 3, "öüß"}, {"abc", 0, ""}} {
		if got := table.CutStart(c.in, c.max); got != c.want {
			t.Errorf("CutStart(%q, %d) = %q, want %q", c.in, c.max, got, c.want)
		}
	}
}

func TestFill(t *testing.T) {
	for text, want := range map[string][]string{
		"one two threefourfive six": {"one two", "threefourfive", "six"},
		"took 12 ms, more":          {"took", "12 ms,", "more"}, // "took 12" alone would fit
		"took 12 mm, more":          {"took 12", "mm, more"},
		"Floor ms":                  {"Floor ms"},
		"Floors ms":                 {"Floors", "ms"}, // no number
	} {
		if diff := cmp.Diff(want, table.Fill(text, 8)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 7: "7 ns", 999: "999 ns", 1000: "1.00 µs", 79_020: "79.0 µs", 999_400: "999 µs", 999_600: "1.00 ms",
		1_256_000:  "1.26 ms",
		45_678_000: "45.7 ms", 99_960_000: "100 ms", 2_500_000_000: "2.50 s", 12345 * time.Second: "12345 s",
		-1500: "-1.50 µs",
	} {
		if got := table.Duration(d); got != want {
			t.Errorf("Duration(%d) = %q, want %q", d, got, want)
		}
	}
}

// screen is a writer with a width.
type screen struct {
	strings.Builder
	width int
}

func (s *screen) Width() int { return s.width }

// TestWidth: lines fit where texts can be cut, numbers stay, and a column's own
// limit gives way where there is room.
func TestWidth(t *testing.T) {
	for _, c := range []struct{ width, name, line int }{{0, 20, 29}, {60, 50, 59}, {59, 50, 59}, {58, 49, 58},
		{40, 31, 40}, {21, 12, 21}} {
		tab := table.New(table.Text("Name").Limit(20), table.Number("Time"), table.Number("N"))
		tab.Row(strings.Repeat("k", 50), "1.25", "3")
		s := &screen{width: c.width}
		if err := tab.WriteText(s); err != nil {
			t.Fatal(err)
		}
		row := strings.Split(s.String(), "\n")[2]
		if got := len(strings.Fields(row)[0]); got != c.name || len(row) != c.line ||
			!strings.HasSuffix(row, "1.25  3") {
			t.Errorf("width %d: the name has %d characters of a line of %d, want %d of %d: %q", c.width, got, len(row),
				c.name, c.line, row)
		}
	}
}

func TestSpan(t *testing.T) {
	for _, c := range []struct {
		from, to int64
		want     string
	}{{-1, -1, "?"}, {0, 0, "0"}, {5, 5, "5"}, {5, 8, "5–8"}} {
		if got := table.Span(c.from, c.to); got != c.want {
			t.Errorf("%d to %d is %q, want %q", c.from, c.to, got, c.want)
		}
	}
}

// TestList: a table of the first of a list with how many more there are, nothing of an empty one.
func TestList(t *testing.T) {
	for n, want := range map[int]string{0: "", 2: "title\nn\n-\n0\n1\n", 3: "title\nn\n-\n0\n1\n(1 more)\n"} {
		var out strings.Builder
		w := table.NewWriter(&out)
		list := make([]int, n)
		for i := range list {
			list[i] = i
		}
		table.List(w, "title", list, 2, func(i int) []string { return []string{fmt.Sprint(i)} }, table.Number("n"))
		if err := w.Flush(); err != nil || out.String() != want {
			t.Errorf("%d: %q, %v; want %q", n, out.String(), err, want)
		}
	}
}
