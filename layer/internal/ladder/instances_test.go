package ladder

import (
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/internal/segment"
)

// kindOf is a variant of so many passes that run kernels of the names of letters, and show n layers.
func kindOf(letters string, members, n int) *variant {
	s := &Sequence{}
	for _, l := range letters {
		s.ID, s.Base, s.Role = append(s.ID, l), append(s.Base, l), append(s.Role, RoleOther)
	}
	return &variant{Cluster: &segment.Cluster{Members: members}, lead: &Result{Seq: s}, n: n}
}

// TestModelOfAVariant: a variant is of the model with which it has three tenths of its kernels in common, and as many
// layers. What has nothing in common is a model of its own where it recurs or is large, else it is the first one's.
func TestModelOfAVariant(t *testing.T) {
	const ten = "abcdefghij"
	for _, c := range []struct {
		what       string
		v          *variant
		cut, large bool // the window begins with it; it has many kernels
		found      []*variant
		want       int // −1: none
	}{
		{"the first", kindOf(ten, 5, 8), false, false, nil, -1},
		{"equal", kindOf(ten, 5, 8), false, false, []*variant{kindOf(ten, 5, 8)}, 0},
		{"three in ten in common", kindOf("abctuvwxyz", 5, 8), false, false, []*variant{kindOf(ten, 5, 8)}, 0},
		{"two in ten", kindOf("abstuvwxyz", 5, 8), false, false, []*variant{kindOf(ten, 5, 8)}, -1},
		{"two in ten, and it does not recur", kindOf("abstuvwxyz", 1, 8), false, false, []*variant{kindOf(ten, 5, 8)}, 0},
		{"two in ten, and it is large", kindOf("abstuvwxyz", 1, 8), false, true, []*variant{kindOf(ten, 5, 8)}, -1},
		{"it recurs with other layers", kindOf(ten, 2, 7), false, false, []*variant{kindOf(ten, 5, 8)}, -1},
		{"it recurs without layers", kindOf(ten, 2, 0), false, false, []*variant{kindOf(ten, 5, 8)}, 0},
		{"half as long", kindOf("abcde", 2, 0), false, false, []*variant{kindOf(ten, 5, 8)}, 0},
		{"shorter", kindOf("abcd", 2, 0), false, false, []*variant{kindOf(ten, 5, 8)}, -1},
		{"without layers before it", kindOf(ten, 2, 8), false, false, []*variant{kindOf(ten, 5, 0)}, 0},
		{"more layers", kindOf("abcdefgxyz", 1, 9), true, false, []*variant{kindOf(ten, 5, 8)}, -1},
		{"more layers, and four in five in common", kindOf("abcdefghyz", 1, 9), true, false, []*variant{kindOf(ten, 5, 8)}, 0},
		{"fewer layers within the window", kindOf("abcdefgxyz", 1, 7), false, false, []*variant{kindOf(ten, 5, 8)}, -1},
		{"fewer layers at its edge", kindOf("abcdefgxyz", 1, 7), true, false, []*variant{kindOf(ten, 5, 8)}, 0},
		{"one layer", kindOf("abcdefgxyz", 1, 1), false, false, []*variant{kindOf(ten, 5, 8)}, -1},
		{"no layers", kindOf("abcdefgxyz", 1, 0), false, false, []*variant{kindOf(ten, 5, 8)}, 0},
		{"the second has more in common", kindOf(ten, 5, 8), false, false, []*variant{kindOf("abcdefgxyz", 5, 8), kindOf(ten, 5, 8)}, 1},
		{"both have as much in common", kindOf(ten, 5, 8), false, false, []*variant{kindOf(ten, 5, 8), kindOf(ten, 5, 8)}, 0},
		{"the second has as many layers", kindOf(ten, 5, 8), false, false, []*variant{kindOf(ten, 5, 7), kindOf("abctuvwxyz", 5, 8)}, 1},
		{"the first has as many layers", kindOf(ten, 5, 8), false, false, []*variant{kindOf("abctuvwxyz", 5, 8), kindOf(ten, 5, 7)}, 0},
		{"the second is about as long", kindOf(ten, 5, 8), false, false, []*variant{kindOf(strings.Repeat(ten, 2), 5, 8), kindOf("abcdefghiz", 5, 8)}, 1},
		{"a cut one, whose number says nothing", kindOf(ten, 5, 8), true, false, []*variant{kindOf(strings.Repeat(ten, 2), 5, 8), kindOf("abcdefghiz", 5, 8)}, 0},
	} {
		c.v.lead.atStart = c.cut
		var found []*instance
		for _, o := range c.found {
			found = append(found, &instance{n: o.n, variants: []*variant{o}})
		}
		got := -1
		if in := (&Work{}).instanceOf(c.v, found, c.large); in != nil {
			for k := range found {
				if found[k] == in {
					got = k
				}
			}
		}
		if got != c.want {
			t.Errorf("%s: model %d, want %d", c.what, got, c.want)
		}
	}
	tower := kindOf(ten, 1, 8)
	tower.lead.Tower = true
	if in := (&Work{}).instanceOf(tower, []*instance{{n: 8, variants: []*variant{kindOf(ten, 5, 8)}}}, false); in != nil {
		t.Error("a tower is of the model behind it")
	}
}

// TestDraftsRunBeforeTheirTarget: a model drafts for another one with more layers and four tenths of its kernels where
// it runs before four in five of that one's passes, the first left out. One that has more kernels than its target runs
// twice as often.
func TestDraftsRunBeforeTheirTarget(t *testing.T) {
	for _, c := range []struct {
		what   string
		passes string // d of the draft, t of the target, - of none
		common int    // of ten kernels
		n      int    // layers of the draft, of eight
		first  bool   // it has more kernels than the target
		want   bool
	}{
		{"each time", "dtdtdt", 10, 1, false, true}, {"the first pass was cut off", "tdtdt", 10, 1, false, true},
		{"four of five", "tdtdtdtdtt", 10, 1, false, true}, {"three of five", "tdtdtdttt", 10, 1, false, false},
		{"one pass", "dt", 10, 1, false, false}, {"never", "ttt", 10, 1, false, false},
		{"four tenths in common", "dtdtdt", 4, 1, false, true}, {"three tenths", "dtdtdt", 3, 1, false, false},
		{"seven layers", "dtdtdt", 10, 7, false, true}, {"as many layers", "dtdtdt", 10, 8, false, false},
		{"two for each", "ddtddt", 10, 1, true, true}, {"fewer than two for each", "ddtdt", 10, 1, true, false},
		{"passes of no model between", "-dt-dt-dt", 10, 1, false, true},
	} {
		draft, target := kindOf("abcdefghij"[:c.common]+"qrstuvwxyz"[c.common:], 5, c.n), kindOf("abcdefghij", 5, 8)
		found := []*instance{{n: 8, variants: []*variant{target}}, {n: c.n, variants: []*variant{draft}}}
		if draft.instance = 1; c.first {
			found[0], found[1] = found[1], found[0]
			draft.instance, target.instance = 0, 1
		}
		var results []*Result
		for _, p := range c.passes {
			r := &Result{variant: map[rune]*variant{'d': draft, 't': target}[p]}
			results = append(results, r)
		}
		if (&Work{}).findDrafts(results, "", found); draft.draft != c.want || target.draft {
			t.Errorf("%s: drafts %v, want %v; the target drafts %v", c.what, draft.draft, c.want, target.draft)
		}
	}
}

// TestLayersBesideATower: how many layers a model has its other passes show that recur, most of all the most frequent
// ones. Fewer than four are no stack.
func TestLayersBesideATower(t *testing.T) {
	layers := func(n, members int) *variant {
		v := kindOf("", members, 0)
		for range n {
			for k, r := range []Role{RoleNorm, RoleGemm, RoleMixer, RoleGemm, RoleNorm, RoleGemm, roleActivation, RoleGemm} {
				v.lead.Seq.ID, v.lead.Seq.Base = append(v.lead.Seq.ID, int32(k)), append(v.lead.Seq.Base, int32(k))
				v.lead.Seq.Role = append(v.lead.Seq.Role, r)
			}
		}
		return v
	}
	for _, c := range []struct {
		what   string
		others []*variant
		want   int
	}{
		{"none", nil, 0}, {"one that recurs", []*variant{layers(6, 2)}, 6}, {"one that does not", []*variant{layers(6, 1)}, 0},
		{"the most frequent", []*variant{layers(6, 2), layers(8, 3)}, 8},
		{"the most frequent first", []*variant{layers(8, 3), layers(6, 2)}, 8},
		{"as frequent", []*variant{layers(8, 2), layers(6, 2)}, 8},
		{"four layers", []*variant{layers(4, 2)}, 4}, {"three layers", []*variant{layers(3, 2)}, 0},
		{"other kernels", []*variant{kindOf(strings.Repeat("abcdefgh", 6), 2, 6)}, 0},
	} {
		v := layers(12, 1)
		w := &Work{variants: append([]*variant{v}, c.others...)}
		if got := w.layersBeside(v); got != c.want {
			t.Errorf("%s: %d layers, want %d", c.what, got, c.want)
		}
	}
}

// TestSeveralModels: models of two names may be one.
func TestSeveralModels(t *testing.T) {
	one, two := &Model{}, &Model{}
	a, b, c := ModelKey{"A", 0}, ModelKey{"A", 1}, ModelKey{"B", 0}
	for want, all := range map[bool][]map[ModelKey]*Model{false: {nil, {a: one}, {a: one, b: one}},
		true: {{a: one, b: two}, {a: one, b: one, c: two}}} {
		for _, models := range all {
			if got := (&Work{Models: models}).SeveralModels(); got != want {
				t.Errorf("%v: several %v, want %v", models, got, want)
			}
		}
	}
}
