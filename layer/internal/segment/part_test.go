package segment

import (
	"fmt"
	"testing"
)

// TestParts: a part shares the list as long as its elements are together, and never writes into it.
func TestParts(t *testing.T) {
	for _, c := range []struct {
		add  []int
		want string
		own  bool
	}{
		{[]int{1, 2, 3}, "[11 12 13]", false}, {[]int{0, 2}, "[10 12]", true},
		{[]int{0, 1, 3, 4}, "[10 11 13 14]", true}, {[]int{4}, "[14]", false},
		{[]int{0, 2, 3, 4}, "[10 12 13 14]", true},
	} {
		list := []int32{10, 11, 12, 13, 14}
		var p Part
		for _, k := range c.add {
			p.Add(list, k, k+1)
		}
		if got := fmt.Sprint(p.List); got != c.want || fmt.Sprint(list) != "[10 11 12 13 14]" {
			t.Errorf("%v: %s of %v, want %s", c.add, got, list, c.want)
		}
		if own := &p.List[0] != &list[c.add[0]]; own != c.own {
			t.Errorf("%v: a list of its own: %v, want %v", c.add, own, c.own)
		}
	}
}

// TestPartsOfRuns: so do elements that are taken in several at once.
func TestPartsOfRuns(t *testing.T) {
	list := []int32{10, 11, 12, 13, 14, 15}
	var p Part
	p.Add(list, 1, 3)
	if p.Add(list, 3, 4); fmt.Sprint(p.List) != "[11 12 13]" || &p.List[0] != &list[1] {
		t.Errorf("two runs that stand together: %v, want the list's own [11 12 13]", p.List)
	}
	if p.Add(list, 5, 6); fmt.Sprint(p.List, list) != "[11 12 13 15] [10 11 12 13 14 15]" {
		t.Errorf("with one behind a gap: %v of %v, want [11 12 13 15]", p.List, list)
	}
}

// TestMemoOfOneList: the list that was asked for before is known without a look, another of equal elements by them.
func TestMemoOfOneList(t *testing.T) {
	var m Memo[int]
	n := 0
	next := func() int { n++; return n }
	a, b, c := []int32{1, 2}, []int32{1, 3}, []int32{1, 2}
	for k, x := range []struct {
		ids  []int32
		want int
	}{{a, 1}, {a, 1}, {b, 2}, {c, 1}, {b, 2}, {a[:1], 3}, {a, 1}, {nil, 4}, {nil, 4}} {
		if got := m.Get(x.ids, next); got != x.want {
			t.Errorf("%d: %d, want %d", k, got, x.want)
		}
	}
}
