package classify

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

// labelled is a name with the categories that are right and the project that it is from.
type labelled struct {
	name, project string
	accepted      []string
	us            float64 // GPU time in the sample traces
}

// labelledNames are all names with labels.
func labelledNames(t *testing.T) []labelled {
	t.Helper()
	var out []labelled
	read := func(path string, accepted, name, project, us int) {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(strings.TrimRight(string(data), "\n"), "\n") {
			f := strings.Split(line, "\t")
			if i == 0 || strings.HasPrefix(line, "#") || len(f) <= max(accepted, name) {
				continue
			}
			l := labelled{name: f[name], accepted: strings.Split(f[accepted], "|")}
			if project >= 0 {
				l.project = projectOf(f[project])
			}
			if us >= 0 {
				l.us, _ = strconv.ParseFloat(f[us], 64)
			}
			out = append(out, l)
		}
	}
	read(testdata.Shared(t, "labels/kernel-names.tsv"), 1, 0, 4, -1)
	read(testdata.Shared(t, "labels/kernel-categories.tsv"), 0, 3, -1, 2)
	read("testdata/heldout.tsv", 0, 2, 1, -1)
	read("testdata/public.tsv", 0, 2, 1, -1)
	read("testdata/late.tsv", 0, 2, 1, -1)
	projects := map[string]string{}
	for _, l := range out {
		if l.project != "" {
			projects[Parse(l.name).Function] = l.project
		}
	}
	for i := range out {
		if n := Parse(out[i].name); out[i].project == "" {
			out[i].project = cmp.Or(n.Family, projects[n.Function], libraryOf(&n))
		}
	}
	return out
}

// libraryOf is the library that the rule which decides about a name was written for. A name of none is a library of
// its own: the words that decide about it alone are taken away, the general rules stay.
func libraryOf(n *Name) string {
	rule := Default().judge(n).rule
	for _, r := range Default().rules {
		if r.ID == rule && r.Library != "" {
			return r.Library
		}
	}
	return "name " + n.Function
}

// projectOf is the library that a source of labels is of, forks and pull requests put together.
func projectOf(source string) string {
	repo, _, _ := strings.Cut(source, ":")
	repo, _, _ = strings.Cut(repo, " ")
	owner, name, ok := strings.Cut(repo, "/")
	switch {
	case !ok || strings.HasPrefix(source, "public"):
		return ""
	case name == "TraceLens":
		return "" // it holds traces of others
	case name == "pytorch" && owner == "pytorch":
		return familyPyTorch
	}
	return strings.ToLower(strings.TrimSuffix(name, ".cpp"))
}

// withoutLibrary are the default rules without those of a library and without the words that decide about names of
// that library only. For each word of a rule it counts the projects whose names contain the word and are decided by
// the rule.
func withoutLibrary(project string, owners map[wordOf3]map[string]bool) *Ruleset {
	var rules []Rule
	for _, r := range Default().rules {
		if r.Library == project {
			continue
		}
		kept := true
		own := func(list []string) []string {
			out := slices.DeleteFunc(slices.Clone(list), func(w string) bool {
				o := owners[wordOf3{r.ID, w}]
				return len(o) == 1 && o[project]
			})
			kept = kept && (len(list) == 0 || len(out) > 0)
			return out
		}
		w := &r.When
		w.Function, w.Prefix, w.Exact, w.Scope, w.Name, w.Args, w.Family, w.Wrapper = own(w.Function), own(w.Prefix),
			own(w.Exact), own(w.Scope), own(w.Name), own(w.Args), own(w.Family), own(w.Wrapper)
		for _, list := range []*[]string{&w.Function, &w.Prefix, &w.Exact, &w.Scope, &w.Name, &w.Args, &w.Family,
			&w.Wrapper} {
			if len(*list) == 0 {
				*list = nil
			}
		}
		if kept {
			rules = append(rules, r)
		}
	}
	s := New(rules...)
	for i := range s.compiled {
		s.compiled[i].standard = true
	}
	return s
}

// wordOf3 is a word of a rule.
type wordOf3 struct{ rule, word string }

// wordOwners returns, for each word of a rule, the projects whose names it decides.
func wordOwners(names []labelled) map[wordOf3]map[string]bool {
	out := map[wordOf3]map[string]bool{}
	byID := map[string]*Rule{}
	for i := range Default().rules {
		byID[Default().rules[i].ID] = &Default().rules[i]
	}
	for _, l := range names {
		n := Parse(l.name)
		r := byID[Default().judge(&n).rule]
		if r == nil {
			continue
		}
		note := func(list []string, only func(w string) Pattern) {
			for _, w := range list {
				one := Rule{When: only(w)}
				c := compileRule(&one)
				sub := newSubject(&n)
				if c.matches(&sub) {
					k := wordOf3{r.ID, w}
					if out[k] == nil {
						out[k] = map[string]bool{}
					}
					out[k][l.project] = true
				}
			}
		}
		note(r.When.Function, func(w string) Pattern { return Pattern{Function: words(w)} })
		note(r.When.Prefix, func(w string) Pattern { return Pattern{Prefix: words(w)} })
		note(r.When.Exact, func(w string) Pattern { return Pattern{Exact: words(w)} })
		note(r.When.Scope, func(w string) Pattern { return Pattern{Scope: words(w)} })
		note(r.When.Name, func(w string) Pattern { return Pattern{Name: words(w)} })
		note(r.When.Args, func(w string) Pattern { return Pattern{Args: words(w)} })
		note(r.When.Family, func(w string) Pattern { return Pattern{Family: words(w)} })
		note(r.When.Wrapper, func(w string) Pattern { return Pattern{Wrapper: words(w)} })
	}
	return out
}

// TestNamesOfUnseenLibraries: the rules and the words that were written for one library are taken away, and its names
// judged by the rest, for one library after the other. Both figures are logged. Few names may be
// wrong with a high confidence.
func TestNamesOfUnseenLibraries(t *testing.T) {
	names := labelledNames(t)
	owners := wordOwners(names)
	projects := map[string][]labelled{}
	for _, l := range names {
		projects[l.project] = append(projects[l.project], l)
	}
	type tally struct {
		n, right, sure, sureWrong int
		us, rightUS               float64
	}
	var wrong []string
	count := func(to *tally, s *Ruleset, l labelled) {
		n := Parse(l.name)
		v := s.judge(&n)
		ok := slices.Contains(l.accepted, string(v.category))
		to.n++
		to.us += l.us
		if ok {
			to.right++
			to.rightUS += l.us
		}
		if v.confidence >= 0.9 {
			to.sure++
			if !ok {
				to.sureWrong++
				wrong = append(wrong, fmt.Sprintf("%s by %s, it is %s (%s): %.100s", v.category, v.rule,
					strings.Join(l.accepted, "|"), l.project, l.name))
			}
		}
	}
	var seen, unseen tally
	bands := map[string]*tally{}
	for _, project := range slices.Sorted(maps.Keys(projects)) {
		held := withoutLibrary(project, owners)
		var a, b tally
		for _, l := range projects[project] {
			count(&a, Default(), l)
			count(&b, held, l)
			n := Parse(l.name)
			v := held.judge(&n)
			key := fmt.Sprintf("%.2f", v.confidence)
			if bands[key] == nil {
				bands[key] = &tally{}
			}
			bands[key].n++
			if slices.Contains(l.accepted, string(v.category)) {
				bands[key].right++
			}
		}
		if a.n >= 10 {
			t.Logf("%-26s %4d names: %5.1f%% as it is, %5.1f%% without its own rules", project, a.n,
				100*float64(a.right)/float64(a.n), 100*float64(b.right)/float64(b.n))
		}
		for to, from := range map[*tally]*tally{&seen: &a, &unseen: &b} {
			to.n, to.right, to.sure, to.sureWrong, to.us, to.rightUS = to.n+from.n, to.right+from.right,
				to.sure+from.sure, to.sureWrong+from.sureWrong, to.us+from.us, to.rightUS+from.rightUS
		}
	}
	for _, c := range []struct {
		what string
		tally
	}{{"as they are", seen}, {"without the rules of each name's own library", unseen}} {
		t.Logf("%s: %.1f%% of %d names, %.2f%% of GPU time; %d told with 0.9 or more, %d of them wrong (%.2f%% of all)",
			c.what, 100*float64(c.right)/float64(c.n), c.n,
			100*c.rightUS/c.us, c.sure, c.sureWrong, 100*float64(c.sureWrong)/float64(c.n))
	}
	for _, band := range slices.Sorted(maps.Keys(bands)) {
		b := bands[band]
		t.Logf("told with %s: %.1f%% of %d are right", band, 100*float64(b.right)/float64(b.n), b.n)
	}
	for _, w := range wrong {
		t.Logf("sure and wrong: %s", w)
	}
	if seen.sureWrong*100 >= seen.n {
		t.Errorf("%d of %d names are sure and wrong", seen.sureWrong, seen.n)
	}
	if unseen.rightUS < 0.99*unseen.us {
		t.Errorf("%.2f%% of the GPU time of unseen libraries is right, want 99%%", 100*unseen.rightUS/unseen.us)
	}
	if unseen.sureWrong*100 >= unseen.n {
		t.Errorf("%d of %d names of unseen libraries are sure and wrong, want less than 1%%", unseen.sureWrong,
			unseen.n)
	}
}
