package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSizeOfDocuments: one of exactly the limit is read, a longer one refused.
func TestSizeOfDocuments(t *testing.T) {
	if maxBytes != 4*1024*1024 {
		t.Errorf("limit %d, want 4 MiB", maxBytes)
	}
	for more, want := range map[int]bool{0: true, 1: false} {
		data, err := readDocument("x", strings.NewReader(strings.Repeat(" ", maxBytes+more)))
		if (err == nil) != want || want && len(data) != maxBytes || !want &&
			!errors.Is(err, errLimit) {
			t.Errorf("%d bytes beyond the limit: %d bytes, %v", more, len(data), err)
		}
	}
}

func TestDepthOfDocuments(t *testing.T) {
	nested := func(n int, open, end string) string {
		return `{"a":` + strings.Repeat(open, n) + strings.Repeat(end, n) + `}`
	}
	for n, want := range map[int]bool{63: true, 64: false} {
		for _, text := range []string{nested(n, "[", "]"),
			strings.Replace(nested(n, `{"a":`, "}"), `{"a":}`, "{}", 1)} {
			if _, err := parseDocument("x", []byte(text)); (err == nil) != want {
				t.Errorf("%d brackets inside the outermost: %v", n, err)
			}
		}
	}
	wide := `{"a":[` + strings.TrimSuffix(strings.Repeat("[],[NaN],", 100), ",") + `],"b":"` + strings.Repeat("[", 100) +
		`","c":"\"` + strings.Repeat("{", 100) + `"}`
	if _, err := parseDocument("x", []byte(wide)); err != nil {
		t.Errorf("lists beside each other, some of which end with a word, and brackets in strings: %v", err)
	}
}

// TestPythonNumbers: NaN is 0, infinities are null, in strings they stay.
func TestPythonNumbers(t *testing.T) {
	o, err := parseDocument("x", []byte("\xef\xbb\xbf"+
		` {"n":NaN,"i":Infinity,"m":-Infinity,"s":"NaN","v":-3,"l":[NaN,NaN],"k":"\"NaN"}`))
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{"n": "0", "i": "null", "m": "null", "s": `"NaN"`, "v": "-3",
		"k": `"\"NaN"`} {
		if got := strings.TrimSpace(string(o.Fields[field])); got != want {
			t.Errorf("%s is %s, want %s", field, got, want)
		}
	}
	if v := o.Field("l").Ints(0, 1); fmt.Sprint(v, o.Err()) != "[0 0] <nil>" {
		t.Errorf("list of NaN: %v, %v", v, o.Err())
	}
	for text, want := range map[string]string{"": "empty", " ": "empty", "[]": `starts with '['`, `{"a":}`: "offset 6",
		`{"a":Nan}`: "offset 6", `{"a":"x`: "offset"} {
		if _, err := parseDocument("x", []byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestWholeNumbers(t *testing.T) {
	for text, want := range map[string]string{
		"3": "3", "2": "out", "10": "10", "11": "out", "4.0": "4", "4.5": "no", "1e1": "10", `"4"`: "no", "null": "no",
		"[]": "no", "1e400": "out", " 5 ": "5",
	} {
		n, err := wholeNumber([]byte(text), 3, 10)
		if err != nil && n != 0 {
			t.Errorf("%s: %d beside an error", text, n)
		}
		got := fmt.Sprint(n)
		if errors.Is(err, errLimit) {
			got = "out"
		} else if err != nil {
			got = "no"
		}
		if got != want {
			t.Errorf("%s: %s (%v), want %s", text, got, err, want)
		}
	}
	// 2⁵³ is the last float that names one whole number.
	for text, want := range map[string]bool{"9007199254740992.0": true, "9007199254740994.0": false,
		"-9007199254740992.0": true, "-9007199254740994.0": false} {
		if _, err := wholeNumber([]byte(text), -1<<62, 1<<62); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestFields(t *testing.T) {
	o, err := parseDocument("x", []byte(`{"t":true,"f":false,"n":null,"s":"v","i":7,"l":["a","b"],"m":[1,2],"o":{"i":8},"b":[1,9]}`))
	if err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]valueKind{"t": "bool", "n": "null", "s": "string", "i": "number", "l": "list",
		"o": "object", "missing": "null"} {
		if got := kindOf(o.Fields[field]); got != want {
			t.Errorf("%s is a %s, want %s", field, got, want)
		}
	}
	for field, want := range map[string]string{"t": "true true", "f": "false true", "n": "false false",
		"missing": "false false"} {
		v := o.Field(field)
		if got := fmt.Sprint(v.Flag(), v.Given()); got != want {
			t.Errorf("flag %s: %s, want %s", field, got, want)
		}
	}
	for what, got := range map[string]string{
		"7": fmt.Sprint(o.Field("i").Integer(7, 7)), "0": fmt.Sprint(o.Field("n").Integer(1, 7)),
		"[a b]": fmt.Sprint(o.Field("l").Strings()), "v": o.Field("s").Text(), "": o.Field("n").Text(),
		"8": fmt.Sprint(o.Field("o").Object().Field("i").Integer(0, 9)), "[]": fmt.Sprint(o.Field("n").Ints(0, 1)),
	} {
		if got != what {
			t.Errorf("%q, want %q", got, what)
		}
	}
	o.Field("o").Object().Only([]string{"i"})
	if err := o.Err(); err != nil {
		t.Error(err)
	}
	for want, read := range map[string]func(o object){
		"x: i: want true or false, got a number: 7": func(o object) { o.Field("i").Flag() },
		"x: m[0]: want a string, got a number: 1":   func(o object) { o.Field("m").Strings() },
		"x: i: want a list, got a number: 7":        func(o object) { o.Field("i").Strings() },
		"x: b[1]: over a limit: 9 is outside 0…8":   func(o object) { o.Field("b").Ints(0, 8) },
		"x: o.i: over a limit: 8 is outside 9…9":    func(o object) { o.Field("o").Object().Field("i").Integer(9, 9) },
		"x: s: want an object, got a string: \"v\"": func(o object) { o.Field("s").Object() },
		"x: b: unknown field; known are t, f":       func(o object) { o.Only([]string{"t", "f"}) },
	} {
		own := o.Lenient()
		read(own)
		own.Fail("later", "is not reported")
		if err := own.Err(); err == nil || err.Error() != "profile: "+want {
			t.Errorf("%v, want %s", err, want)
		}
		if err := o.Err(); err != nil {
			t.Errorf("%v is wrong with the document, too", err)
		}
	}
}

func TestExcerpts(t *testing.T) {
	for n, want := range map[int]int{39: 39, 40: 40, 41: 40} {
		got := []rune(excerpt([]byte(strings.Repeat("ä", n))))
		if len(got) != want || (string(got[len(got)-3:]) == "...") != (n > 40) {
			t.Errorf("%d letters: %s", n, string(got))
		}
	}
}

func TestRegularFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if f, err := openRegular("x", path); err != nil {
		t.Error(err)
	} else {
		f.Close()
	}
	for _, p := range []string{dir, path + "y"} {
		if _, err := openRegular("x", p); err == nil || strings.Count(err.Error(), p) != 1 {
			t.Errorf("%v, want a refusal that names %s once", err, p)
		}
	}
	if isDir(path) || !isDir(dir) || isDir(path+"y") {
		t.Error("a directory is one")
	}
}

// TestBordersOfDepth: values nested 64 deep.
func TestBordersOfDepth(t *testing.T) {
	for depth, want := range map[int]bool{64: true, 65: false} {
		text := `{"num_hidden_layers":2,"a":` + strings.Repeat("[", depth-1) + strings.Repeat("]", depth-1) + `}`
		_, err := parseDocument("x", []byte(text))
		if (err == nil) != want || err != nil && !errors.Is(err, errLimit) {
			t.Errorf("%d deep: %v", depth, err)
		}
	}
	if _, err := parseDocument("x", []byte(`{"a":[{}],"b":[[],[]],"c":"[[[["}`)); err != nil {
		t.Error(err)
	}
}
