package segment

import (
	"flag"
	"fmt"
	"math/rand"
	"reflect"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen/families"
)

var search = flag.Bool("search", false, "look through the whole corpus for cases on either side of each field, and print them")

var allFamilies = families.All()

// input returns a sequence of the corpus and the number of layers it has.
func input(t testing.TB, name string) (*Sequence, int) {
	t.Helper()
	part := strings.Split(name, "|")
	for _, f := range allFamilies {
		if f.Name != part[0] {
			continue
		}
		o := f.Decode
		if part[1] == "prefill" {
			o = f.Prefill
		}
		for _, c := range changes {
			if c.name == part[2] {
				return sequenceOf(c.make(rand.New(rand.NewSource(1)), o)), len(o.Layers)
			}
		}
	}
	t.Fatalf("the corpus has no %q", name)
	return nil, 0
}

// with returns the parameters with one field changed.
func with(field string, value float64) *Params {
	p := DefaultParams()
	v := reflect.ValueOf(p).Elem().FieldByName(field)
	if v.Kind() == reflect.Int {
		v.SetInt(int64(value))
	} else {
		v.SetFloat(value)
	}
	return p
}

func valueOf(field string) float64 {
	v := reflect.ValueOf(DefaultParams()).Elem().FieldByName(field)
	if v.Kind() == reflect.Int {
		return float64(v.Int())
	}
	return v.Float()
}

// nearby are values below and above that of a field, nearest first.
func nearby(field string) (less, more []float64) {
	x := valueOf(field)
	if reflect.ValueOf(DefaultParams()).Elem().FieldByName(field).Kind() == reflect.Int {
		for _, d := range []float64{1, 2, 4, 8, 16, 32, 64} {
			if x < 0 || x >= d {
				less = append(less, x-d)
			}
			more = append(more, x+d)
		}
		return less, more
	}
	for _, f := range []float64{1.05, 1.1, 1.2, 1.33, 1.5, 2, 3, 5, 10, 30} {
		less, more = append(less, x/f), append(more, x*f)
	}
	return append(less, -1), more
}

// TestSearchCases prints, for each field without a case, inputs of the corpus whose decisions a nearby value flips.
func TestSearchCases(t *testing.T) {
	if !*search {
		t.Skip("only with -search")
	}
	type entry struct {
		name string
		s    *Sequence
		n    int
		want string
	}
	var corpus []entry
	for i, f := range families.All() {
		for k, c := range changes {
			for j, stage := range []string{"prefill", "decode"} {
				if (i+k+j)%7 != 0 {
					continue
				}
				name := f.Name + "|" + stage + "|" + c.name
				s, n := input(t, name)
				corpus = append(corpus, entry{name, s, n, decide(DefaultParams(), s, n)})
			}
		}
	}
	fields := reflect.TypeFor[Params]()
	for i := range fields.NumField() {
		field := fields.Field(i).Name
		if _, ok := flips[field]; ok || rules[field] != nil || strings.HasPrefix(field, "Confidence") || strings.HasPrefix(field, "Cap") {
			continue
		}
		less, more := nearby(field)
		find := func(values []float64) string {
			for _, v := range values {
				for _, e := range corpus {
					if decide(with(field, v), e.s, e.n) != e.want {
						return fmt.Sprintf("%q, %v", e.name, v)
					}
				}
			}
			return ""
		}
		fmt.Printf("\t%q: {%s, %s},\n", field, find(less), find(more))
	}
}

// capped are the doubts that each cap is for.
var capped = map[string]Doubts{
	"CapFront": {Front: true}, "CapUnlike": {Unlike: 1}, "CapForeign": {Foreign: true}, "CapOutside": {Outside: 1}, "CapSingle": {Single: 1},
	"CapGuess": {Single: 1, Guessed: true}, "CapUneven": {Uneven: 1, Unstarted: 0.3},
	"CapBare": {Bare: true}, "CapNameless": {Nameless: true}, "CapUnstarted": {Unstarted: 1}, "CapDamaged": {Unstarted: 1, Single: 0.1}, "CapUnplaced": {Unplaced: true},
	"CapParts": {Parts: true, Guessed: true}, "CapSeveral": {Unplaced: true, Several: true}, "CapMiscounted": {Miscounted: true},
}

// TestDoubtsOfCounts: passes within the layers speak against any number of them, a layer without a mixer among the others against one that was read.
func TestDoubtsOfCounts(t *testing.T) {
	p := DefaultParams()
	for _, c := range []struct {
		d    Doubts
		want float64
	}{{Doubts{Looked: true}, p.CapMiscounted}, {Doubts{BareInside: true, Guessed: true}, p.CapParts}, {Doubts{BareInside: true}, 1},
		{Doubts{Unstarted: 0.7}, p.CapDamaged}, {Doubts{Unstarted: 0.8}, p.CapUnstarted}, {Doubts{Unstarted: 0.8, Single: 0.1}, p.CapDamaged}} {
		if got := p.Judge(1, c.d); got != c.want {
			t.Errorf("%+v leaves %v, want %v", c.d, got, c.want)
		}
	}
}

// TestEveryNumberDecides: each field of Params has a case on either side of which something else is decided. A field without
// one fails: find some with -search, or write a rule.
func TestEveryNumberDecides(t *testing.T) {
	fields := reflect.TypeFor[Params]()
	for i := range fields.NumField() {
		field := fields.Field(i).Name
		t.Run(field, func(t *testing.T) {
			d, isCap := capped[field]
			rule, isRule := rules[field]
			f, isFlip := flips[field]
			switch {
			case isCap:
				checkCap(t, field, d)
			case isRule:
				checkRule(t, field, rule)
			case isFlip:
				checkBetween(t, field, f)
			case strings.HasPrefix(field, "Confidence"), field == "CapLost", field == "CapBack":
				// What a rung is worth decides where a doubt leaves more, and not where it leaves less.
				p := DefaultParams()
				if x := valueOf(field); min(x, p.Judge(x+0.01, Doubts{})) != x || min(x, p.Judge(x-0.01, Doubts{})) == x || x <= 0 || x >= 1 {
					t.Errorf("%s = %v is no confidence", field, x)
				}
			default:
				t.Errorf("%s has no case on either side: find one with -search, or write a rule", field)
			}
		})
	}
}

func checkCap(t *testing.T, field string, d Doubts) {
	x := valueOf(field)
	p := DefaultParams()
	if got := p.Judge(x-0.001, d); got != x-0.001 {
		t.Errorf("a confidence below the cap becomes %v, want %v", got, x-0.001)
	}
	if got := p.Judge(x+0.001, d); got != x {
		t.Errorf("a confidence above the cap becomes %v, want %v", got, x)
	}
	if got := with(field, 0).Judge(1, d); got != 0 {
		t.Errorf("with a cap of 0 it becomes %v", got)
	}
}

func checkRule(t *testing.T, field string, rule []func(p *Params) bool) {
	if a, b := rule[0](DefaultParams()), rule[1](DefaultParams()); a == b {
		t.Fatalf("both sides of %v give %v", valueOf(field), a)
	}
	less, more := nearby(field)
	for _, side := range [][]float64{less, more} {
		moved := false
		for _, v := range side {
			moved = moved || rule[0](with(field, v)) == rule[1](with(field, v))
		}
		if !moved {
			t.Errorf("no value of %v makes both sides equal: something else decides", side)
		}
	}
}

// checkBetween says that a number lies between those with which something else is decided about the corpus; TestNumbersDecideAboutTheCorpus
// says that it is.
func checkBetween(t *testing.T, field string, f flip) {
	x := valueOf(field)
	if f.lessName != "" && x <= f.less || f.moreName != "" && x >= f.more || f.lessName == "" && f.moreName == "" {
		t.Errorf("%s = %v has no case on either side: %+v", field, x, f)
	}
}

// TestNumbersDecideAboutTheCorpus: with another value of a field something else is decided about a sequence of the corpus.
func TestNumbersDecideAboutTheCorpus(t *testing.T) {
	for field, f := range flips {
		for _, c := range []struct {
			name  string
			value float64
		}{{f.lessName, f.less}, {f.moreName, f.more}} {
			if c.name == "" {
				continue // nothing in the corpus is on that side
			}
			s, n := input(t, c.name)
			if decide(DefaultParams(), s, n) == decide(with(field, c.value), s, n) {
				t.Errorf("%s: %s: with %v nothing else is decided than with %v", field, c.name, c.value, valueOf(field))
			}
		}
	}
}

// TestBothSidesOfNumbers: the quick part of TestEveryNumberDecides: what is decided on either side of a number differs.
func TestBothSidesOfNumbers(t *testing.T) {
	for field, rule := range rules {
		if a, b := rule[0](DefaultParams()), rule[1](DefaultParams()); a == b {
			t.Errorf("%s = %v: both sides give %v", field, valueOf(field), a)
		}
	}
	for field, f := range flips {
		checkBetween(t, field, f)
	}
}
