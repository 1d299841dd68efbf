package activity

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/trace/event"
)

func named(name string, c classify.Category) *Kernel {
	n := classify.Parse(name)
	return &Kernel{Canonical: name, Parsed: n, Words: n.Words(), Shown: Class{Category: c}}
}

// TestLikenessOfNames: a longer name that begins with the other one, one that holds it, a long common beginning, an alias; each
// bound on both sides.
func TestLikenessOfNames(t *testing.T) {
	sixteen, fifteen := strings.Repeat("k", 16), strings.Repeat("k", 15)
	begin := func(shared, a, b int) (string, string) { // names of a and b letters that share their first ones
		return strings.Repeat("p", shared) + strings.Repeat("x", a-shared), strings.Repeat("p", shared) + strings.Repeat("y", b-shared)
	}
	for _, c := range []struct {
		name string
		a, b string
		want int
	}{
		{"equal", sixteen, sixteen, 4016},
		{"begins", sixteen, sixteen + "abc", 4016},
		{"begins, the other way round", sixteen + "abc", sixteen, 4016},
		{"too short", fifteen, fifteen + "abc", 0},
		{"holds", sixteen, "a" + sixteen + "c", 3016},
		{"holds, too short", fifteen, "a" + fifteen + "c", 0},
		{"alias", "flash_attn_combine", "flash_fwd_kernel", 1000},
		{"alias, the other way round", "flash_fwd_kernel", "flash_attn_combine", 1000},
		{"no alias", "flash_attn_combine", "gemm", 0},
	} {
		if got := nameLikeness(named(c.a, classify.CategoryGEMM), named(c.b, classify.CategoryGEMM)); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	for _, c := range []struct{ shared, a, b, want int }{
		{64, 97, 97, 2064}, {63, 97, 97, 0}, {64, 96, 97, 0}, {64, 96, 96, 0}, {80, 97, 200, 2080}, {79, 97, 200, 0}, {90, 97, 98, 2090}, {0, 97, 97, 0},
	} {
		a, b := begin(c.shared, c.a, c.b)
		if got := nameLikeness(named(a, classify.CategoryGEMM), named(b, classify.CategoryGEMM)); got != c.want {
			t.Errorf("%d letters of %d and %d: %d, want %d", c.shared, c.a, c.b, got, c.want)
		}
		if got := nameLikeness(named(a, classify.CategoryGEMM), named(b, classify.CategoryNorm)); got != 0 {
			t.Errorf("%d letters of another category: %d, want 0", c.shared, got)
		}
	}
	if a, b := "x"+strings.Repeat("p", 96), "y"+strings.Repeat("p", 96); nameLikeness(named(a, classify.CategoryGEMM), named(b, classify.CategoryGEMM)) != 0 {
		t.Error("names that differ in the first letter have a common beginning")
	}
}

func TestSimilarKernels(t *testing.T) {
	long := strings.Repeat("k", 20)
	p := NewPool()
	for _, n := range []string{long, long + "b", long + "a", "other"} {
		p.Facts = append(p.Facts, *named(n, classify.CategoryGEMM))
	}
	p.Facts = append(p.Facts, Kernel{Canonical: long, Kind: event.Memset})
	index := func(ids ...int32) *siteIndex {
		x := &siteIndex{any: map[int32][]SiteTime{}}
		for _, id := range ids {
			x.any[id] = []SiteTime{{Site: 100 + id}}
		}
		return x
	}
	for _, c := range []struct {
		name string
		ids  []int32
		want int32
	}{{"none", nil, -1}, {"none near", []int32{3}, -1}, {"another kind", []int32{4}, -1}, {"itself", []int32{0, 3}, 100}, {"first by name of equals", []int32{1, 2}, 102}, {"one", []int32{1, 3}, 101}} {
		got := index(c.ids...).similar(p, 0)
		if far := index(0).similar(p, 3); far != nil {
			t.Errorf("%v are near another name", far)
		}
		if c.want < 0 && got != nil || c.want >= 0 && (len(got) != 1 || got[0].Site != c.want) {
			t.Errorf("%s: %v, want site %d", c.name, got, c.want)
		}
	}
}

// TestLaunchesAreDealtOut: the launch at some time of the total goes to the site in whose share it falls.
func TestLaunchesAreDealtOut(t *testing.T) {
	sites := []SiteTime{{Site: 1, Ns: 10}, {Site: 2, Ns: 5}}
	for given, want := range map[int64]int32{0: 1, 9: 1, 10: 2, 14: 2, 15: 1, 24: 1, 25: 2, 30: 1} {
		if got := deal(sites, given).Site; got != want {
			t.Errorf("after %d ns: site %d, want %d", given, got, want)
		}
	}
	if got := deal([]SiteTime{{Site: 3}, {Site: 4}}, 7).Site; got != 3 {
		t.Errorf("without time: site %d, want the first", got)
	}
}

func TestSitesOfKernels(t *testing.T) {
	p := NewPool()
	p.Facts = append(p.Facts, *named("norm", classify.CategoryNorm), *named("gemm", classify.CategoryGEMM))
	site := SiteFromPrefill + 1
	w := &Trace{Acts: []Activity{
		{Kernel: 0, Site: site, Stage: StagePrefill, End: 10}, {Kernel: 0, Site: site, Stage: StageDecode, End: 10}, {Kernel: 0, Site: site + 1, Stage: StagePrefill, End: 30},
		{Kernel: 0, Site: SiteFromPrefill, End: 99}, {Kernel: 0, Site: site, Replay: true, End: 99}, {Kernel: 1, Site: site, End: 5}, {Kernel: 0, Site: site, Op: 1, Stage: StagePrefill, End: 20},
	}}
	write := func(list []SiteTime) string {
		var out []string
		for _, s := range list {
			out = append(out, fmt.Sprintf("%d.%d %d ns %d× %v", s.Site-site, s.Op, s.Ns, s.Launches, s.prefill))
		}
		return strings.Join(out, ", ")
	}
	x := newSiteIndex(p, []*Trace{w}, anyKernel)
	for _, c := range []struct {
		what string
		got  []SiteTime
		want string
	}{
		{"any stage", x.any[0], "1.0 30 ns 1× true, 0.0 20 ns 2× false, 0.1 20 ns 1× true"},
		{"prefill", x.exact(0, StagePrefill), "1.0 30 ns 1× true, 0.1 20 ns 1× true, 0.0 10 ns 1× true"},
		{"decode", x.exact(0, StageDecode), "0.0 10 ns 1× false"},
		{"another stage", x.exact(1, StageDecode), "0.0 5 ns 1× true"},
		{"telling", newSiteIndex(p, []*Trace{w}, telling).any[1], ""},
	} {
		if s := write(c.got); s != c.want {
			t.Errorf("%s: %s, want %s", c.what, s, c.want)
		}
	}
}

func TestInternedTexts(t *testing.T) {
	var p Interned
	if a, b, c := p.ID("x"), p.ID("y"), p.ID("x"); a != 0 || b != 1 || c != 0 || len(p.Texts) != 2 {
		t.Errorf("%d, %d and %d of %q", a, b, c, p.Texts)
	}
	if q := NewPool(); q.Sites.Texts[SiteUnresolved] != Unresolved || q.Sites.Texts[siteReplay] != GraphReplay || q.Sites.Texts[SiteFromPrefill] != FromPrefill || len(q.Models) != 1 {
		t.Errorf("sites %q, %d models", q.Sites.Texts, len(q.Models))
	}
}
