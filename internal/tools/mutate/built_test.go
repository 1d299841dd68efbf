package main

import (
	"go/importer"
	"strings"
	"testing"
)

// TestMutantsAreBuiltIn: a constant changes wherever it is used, with its type; a comparison moves its boundary or
// turns round; one inside another keeps both.
func TestMutantsAreBuiltIn(t *testing.T) {
	const text = `package p

const limit = 4

const twice = 2*limit + 1

func f(n int32, x float64) bool { return n < limit == (x > twice) && n >= 7 }
`
	s := &source{path: "p", name: "p", files: []string{"p.go"}, texts: map[string][]byte{"p.go": []byte(text)},
		importer: importer.Default()}
	plain, err := s.check(nil)
	if err != nil {
		t.Fatal(err)
	}
	body := func(change func(site) string) string {
		t.Helper()
		var edits []edit
		for id, kind := range []string{number, comparison} {
			sites, err := sitesIn("p.go", []byte(text), kind)
			if err != nil {
				t.Fatal(err)
			}
			for _, at := range sites {
				if to := change(at); to != "" {
					m := mutant{at, to}
					if !s.compiles(plain, m) {
						t.Errorf("%s → %s does not compile", at.text, to)
					}
					of, err := s.edits(plain, m, id)
					if err != nil {
						t.Fatal(err)
					}
					edits = append(edits, of["p.go"]...)
				}
			}
		}
		_, out, _ := strings.Cut(string(s.apply(plain, "p.go", edits)), "return ")
		out, _, _ = strings.Cut(out, " }\n")
		return out
	}
	for _, tt := range []struct{ from, to, want string }{
		{"4", "5", `n < mutantNumber[int32](0, "m0", limit, 5) == (x > mutantNumber[float64](0, "m0", twice, 11)) && n >= 7`},
		{"2", "3", `n < limit == (x > mutantNumber[float64](0, "m0", twice, 13)) && n >= 7`},
		{">=", ">", `n < limit == (x > twice) && (n >= 7 && !(mutantOn(1, "m1") && n == 7))`},
		{"<", "<=", `(n < limit || mutantOn(1, "m1") && n == limit) == (x > twice) && n >= 7`},
		{"==", "!=", `((n < limit == (x > twice)) != mutantOn(1, "m1")) && n >= 7`},
		{">", "<=", `n < limit == (((x > twice) != mutantOn(1, "m1"))) && n >= 7`},
	} {
		got := body(func(at site) string {
			if at.text == tt.from {
				return tt.to
			}
			return ""
		})
		if strings.Join(strings.Fields(got), " ") != tt.want {
			t.Errorf("%s → %s:\n%s, want\n%s", tt.from, tt.to, got, tt.want)
		}
	}
	got := body(func(at site) string { return map[string]string{"7": "8", ">=": "<"}[at.text] })
	if want := `((n >= mutantNumber[int32](0, "m0", 7, 8)) != mutantOn(1, "m1"))`; !strings.HasSuffix(got, want) {
		t.Errorf("both: %s, want its end to be\n%s", got, want)
	}
}
