package finding_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/vocabulary"
	"github.com/llmstrata/strata/layer/finding"
)

// closed is what each type of a closed set has.
type closed interface {
	fmt.Stringer
	encoding.TextMarshaler
}

// words checks that each value has a word of its own, comes back from it, and that other words are refused.
func words[T interface {
	comparable
	closed
}](t *testing.T, all []T, read func(*T) encoding.TextUnmarshaler) {
	t.Helper()
	seen := map[string]bool{}
	for _, v := range all {
		text, err := v.MarshalText()
		if err != nil || string(text) != v.String() || seen[v.String()] {
			t.Errorf("%T %v: word %q, %v, seen %v", v, v, text, err, seen[v.String()])
		}
		seen[v.String()] = true
		var back T
		if err := read(&back).UnmarshalText(text); err != nil || back != v {
			t.Errorf("%T %q is read as %v, %v", v, text, back, err)
		}
	}
	var none T
	if err := read(&none).UnmarshalText([]byte("no such word")); !errors.Is(err, vocabulary.ErrUnknown) {
		t.Errorf("%T accepts an unknown word: %v", none, err)
	}
}

// TestWords: each closed set has one word a value, and reads no other.
func TestWords(t *testing.T) {
	words(t, finding.Kinds(), func(v *finding.Kind) encoding.TextUnmarshaler { return v })
	words(t, finding.Causes(), func(v *finding.Cause) encoding.TextUnmarshaler { return v })
	words(t, finding.Groups(), func(v *finding.Group) encoding.TextUnmarshaler { return v })
	words(t, finding.Stages(), func(v *finding.Stage) encoding.TextUnmarshaler { return v })
	words(t, finding.Bands(), func(v *finding.Band) encoding.TextUnmarshaler { return v })
	words(t, finding.Measures(), func(v *finding.Measure) encoding.TextUnmarshaler { return v })
	words(t, finding.Bases(), func(v *finding.Basis) encoding.TextUnmarshaler { return v })
	if _, err := finding.Stage("extend").MarshalText(); err == nil {
		t.Error("a stage in another spelling is written")
	}
	if _, err := finding.NumCauses.MarshalText(); err == nil {
		t.Error("a number that is no cause is written")
	}
}

// TestRows: each row has what consumers show, a problem has at most ten words, advice is a sentence in the imperative.
func TestRows(t *testing.T) {
	sentence := func(what, text string) {
		if text == "" || !strings.HasSuffix(text, ".") || text[0] < 'A' || text[0] > 'Z' {
			t.Errorf("%s: %q is no sentence", what, text)
		}
	}
	for _, c := range finding.Causes() {
		i := c.Info()
		if i.Group == finding.NoGroup || i.Title == "" || len(strings.Fields(i.Title)) > 10 || i.Why == "" ||
			len(i.Colour) != 7 {
			t.Errorf("cause %s: incomplete row %+v", c, i)
		}
		sentence("help of "+c.String(), i.Help)
		sentence("advice on "+c.String(), i.Advice.Do)
	}
	for _, k := range finding.Kinds() {
		i := k.Info()
		if i.Title == "" || i.Program == "" {
			t.Errorf("kind %s: incomplete row %+v", k, i)
		}
		sentence("help of "+k.String(), i.Help)
		if i.Advice.Do != "" {
			sentence("advice on "+k.String(), i.Advice.Do)
		}
	}
	for _, s := range finding.Stages() {
		i := s.Info()
		if i.Title == "" || i.Step == "" || i.Published == "" {
			t.Errorf("stage %s: incomplete row %+v", s, i)
		}
		sentence("help of "+string(s), i.Help)
	}
}

// TestDocument: a finding comes back from its document, and a document with an unknown word is refused.
func TestDocument(t *testing.T) {
	f := finding.Finding{Kind: finding.IdleTime, Cause: finding.GPUDispatch, Text: finding.GPUDispatch.Info().Title,
		Size:  finding.SizeOf(finding.Recoverable, finding.OfStep, 30*time.Microsecond, 3, 300*time.Microsecond),
		Stage: finding.StageDecode, Place: finding.Place{Pass: finding.At(0), End: 5}, Confidence: finding.High,
		Advice: finding.GPUDispatch.Info().Advice}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{`"kind":"host-idle"`, `"cause":"gpu-dispatch"`, `"measure":"at-most"`,
		`"per_step_ns":10000`,
		`"total_ns":30000`, `"share":0.1`, `"share_of":"step"`, `"stage":"decode"`, `"pass":0`, `"confidence":"high"`} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%s lacks %s", text, part)
		}
	}
	var back finding.Finding
	if err := json.Unmarshal(text, &back); err != nil || back.Cause != f.Cause || back.Size != f.Size ||
		*back.Place.Pass != 0 {
		t.Errorf("read as %+v, %v", back, err)
	}
	if err := json.Unmarshal([]byte(`{"kind":"else"}`), &back); err == nil {
		t.Error("a kind that is none is read")
	}
	if s := (finding.Finding{}); s.Measure.String() != "none" || s.Of.String() != "none" {
		t.Errorf("a finding without a size does not say so: %v of %v", s.Measure, s.Of)
	}
}

// TestRank: doubts first, then possible gains by size, then what only takes time.
func TestRank(t *testing.T) {
	size := func(m finding.Measure, ns time.Duration) finding.Size { return finding.Size{Measure: m, Total: ns} }
	list := []finding.Finding{
		{Kind: finding.LargestOperator, Size: size(finding.Taken, 100), Text: "takes"},
		{Kind: finding.IdleTime, Size: size(finding.Recoverable, 10), Text: "little"},
		{Kind: finding.OperatorChanged, Size: size(finding.Changed, -50), Text: "much"},
		{Kind: finding.Doubt, Confidence: finding.Medium, Text: "small doubt"},
		{Kind: finding.Coverage, Text: "doubt"},
		{Kind: finding.Doubt, Confidence: finding.Low, Text: "as large"},
		{Kind: finding.Health, Text: "worse doubt"},
	}
	finding.Rank(list)
	var got []string
	for _, f := range list {
		got = append(got, f.Text)
	}
	if want := "worse doubt, doubt, as large, much, little, small doubt, takes"; strings.Join(got, ", ") != want {
		t.Errorf("ranked %v, want %s", got, want)
	}
}

// TestAdviceFitsEveryPlatform: the advice of causes and kinds is given for every GPU, framework and profiler, for
// servers and training alike; what only some have is named after their name, or added where they are known.
func TestAdviceFitsEveryPlatform(t *testing.T) {
	only := regexp.MustCompile(`(?i)programmatic|CUDA_|nsys|rocprof|NCCL_|vllm|sglang|serving|server`)
	labelled := regexp.MustCompile(`\(torch: [^)]*\)`)
	check := func(of, do string) {
		if word := only.FindString(labelled.ReplaceAllString(do, "")); word != "" {
			t.Errorf("advice of %s says %q: %s", of, word, do)
		}
	}
	n := 0
	for _, c := range finding.Causes() {
		if c != finding.UnknownCause { // names each recorder with its flags
			check(c.String(), c.Info().Advice.Do)
		}
		n++
	}
	for _, k := range finding.Kinds() {
		check(k.String(), k.Info().Advice.Do)
		n++
	}
	if n < 30 {
		t.Errorf("%d rows of advice", n)
	}
}

// TestDocumented: the page on the host's verdict has each cause under its group, and the document of each piece of
// advice.
func TestDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/host-verdict.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range finding.Causes() {
		if !strings.Contains(string(page), "`"+c.String()+"`") ||
			!strings.Contains(string(page), "| "+c.Group().String()+" |") {
			t.Errorf("docs/host-verdict.md lacks %s of %s", c, c.Group())
		}
		if s, _, _ := strings.Cut(c.Info().Advice.Source, "#"); !strings.Contains(string(page), s) {
			t.Errorf("docs/host-verdict.md lacks %s", s)
		}
	}
}
