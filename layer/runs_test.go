package layer_test

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/built"
	"github.com/llmstrata/strata/internal/gen/families"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

var (
	onlyGroup = flag.String("group", "", "run the groups of TestRuns whose names contain this, and print each case")
	groupSeed = flag.Int64("group-seed", 1, "the seed of TestRuns with -group or -battery")
	tuning    = flag.Bool("tuning", false, "run TestRuns on the families that numbers may be read from")
)

// runTrace makes a trace of a generated run.
func runTrace(c families.Case) *trace.Trace {
	b := trace.NewBuilder(trace.Options{})
	begun := map[int]bool{}
	pass := -1
	var first, last int64
	mark := func() {
		if pass >= 0 {
			b.Add(trace.EventData{Kind: event.Annotation, Name: "execute_context_0(0)_generation_8(8)",
				Start: first - 500, Duration: last - first + 1000, Thread: 1, Device: trace.None, Stream: trace.None})
		}
	}
	for i, x := range c.Kernels {
		e := trace.EventData{Kind: event.Kernel, Name: x.Name, Start: x.Start, Duration: x.Dur,
			Stream: trace.StreamID(x.Stream)}
		if strings.HasPrefix(x.Name, "Memcpy") {
			e.Kind = event.Memcpy
		}
		if x.Launch >= 0 {
			at := 1_000_000 + int64(x.Launch)*1500 // far ahead of the GPU
			e.Correlation = uint64(x.Launch + 1)
			if !begun[x.Launch] {
				begun[x.Launch] = true
				name := "cudaLaunchKernel"
				if x.Graph {
					name = "cudaGraphLaunch"
				}
				b.Add(trace.EventData{Kind: event.Runtime, Name: name, Start: at, Duration: 1000, Thread: 1,
					Device: trace.None, Stream: trace.None, Correlation: e.Correlation})
			}
			if x.Graph {
				e.GraphNode = uint64(i + 1)
			}
			if c.Annotated && x.Pass != pass {
				mark()
				pass, first = x.Pass, at
			}
			last = at
		}
		b.Add(e)
	}
	if c.Annotated {
		mark()
	}
	return built.Trace(b)
}

// judged is how right the answer about a run is.
type judged struct {
	right  float64 // the share of kernels in layers with their pass and layer
	layers float64 // the share of instances with their number of layers
	conf   float64 // mean over the kernels that count
	what   string
}

// judge compares an answer with the truth about a run.
func judge(d *layer.Device, c families.Case) judged {
	type pair struct{ found, true int }
	both, ofTrue := map[pair]int{}, map[int]int{}
	counts := func(x families.Kernel) bool { return x.Layer != families.Outside || c.Layers[x.Instance] == 0 }
	for k := range d.Kernels() {
		if x := c.Kernels[k.Index()]; counts(x) {
			both[pair{k.Place().Pass, x.Pass}]++
			ofTrue[x.Pass]++
		}
	}
	owner, majority := map[int]int{}, map[int]int{}
	for p, n := range both {
		if q, ok := owner[p.true]; p.found >= 0 && (!ok || n > both[pair{q, p.true}] || n == both[pair{q, p.true}] &&
			p.found < q) {
			owner[p.true] = p.found
		}
		if q, ok := majority[p.found]; !ok || n > both[pair{p.found, q}] || n == both[pair{p.found, q}] && p.true < q {
			majority[p.found] = p.true
		}
	}
	var j judged
	counted := 0.0
	votes := make([]map[int]int, len(c.Layers)) // models of the analysis by instance
	for k := range d.Kernels() {
		x, at := c.Kernels[k.Index()], k.Place()
		if !counts(x) {
			continue
		}
		counted++
		j.conf += float64(at.Confidence)
		if c.Layers[x.Instance] == 0 {
			if at.Layer == trace.None {
				j.right++
			}
			continue
		}
		if at.Pass >= 0 {
			if votes[x.Instance] == nil {
				votes[x.Instance] = map[int]int{}
			}
			votes[x.Instance][d.Passes[at.Pass].Model]++
		}
		if at.Layer == x.Layer && owner[x.Pass] == at.Pass && majority[at.Pass] == x.Pass {
			j.right++
		}
	}
	j.right, j.conf = j.right/max(1, counted), j.conf/max(1, counted)
	instances := 0.0
	for i, n := range c.Layers {
		if n == 0 {
			continue
		}
		instances++
		best := -1
		for m, v := range votes[i] {
			if best < 0 || v > votes[i][best] {
				best = m
			}
		}
		found := 0
		if best >= 0 {
			found = d.Models[best].NumLayers
		}
		if found == n {
			j.layers++
		}
		j.what += fmt.Sprintf(" N %d of %d;", found, n)
	}
	j.layers /= instances
	j.what += fmt.Sprintf(" %d passes of %d", len(d.Passes), len(ofTrue))
	return j
}

// table is a mean for each group.
type table struct {
	groups []string
	of     map[string][]judged
}

func (t *table) add(group string, j judged) {
	if t.of == nil {
		t.of = map[string][]judged{}
	}
	if len(t.of[group]) == 0 {
		t.groups = append(t.groups, group)
	}
	t.of[group] = append(t.of[group], j)
}

func (t *table) rows() string {
	var b strings.Builder
	fmt.Fprintf(&b, "group\tcases\tright\twhole\tlayers\tsurely wrong\n")
	row := func(name string, all []judged) {
		right, whole, layers, wrong := 0.0, 0, 0.0, 0
		for _, j := range all {
			right, layers = right+j.right/float64(len(all)), layers+j.layers/float64(len(all))
			if j.right >= .985 {
				whole++
			}
			if j.right < .9 && j.conf >= .9 {
				wrong++
			}
		}
		fmt.Fprintf(&b, "%s\t%d\t%.3f\t%d\t%.2f\t%d\n", name, len(all), right, whole, layers, wrong)
	}
	var all []judged
	for _, g := range t.groups {
		row(g, t.of[g])
		all = append(all, t.of[g]...)
	}
	row("all", all)
	return b.String()
}

// groupsTable analyses the cases of all groups.
func groupsTable(t *testing.T, all []families.Family, seed int64) *table {
	t.Helper()
	out := &table{}
	cases := families.Groups(all, seed, nil)
	slices.SortStableFunc(cases, func(a, b families.Case) int { return strings.Compare(a.Group, b.Group) })
	for _, c := range cases {
		if !strings.Contains(c.Group+": "+c.Name, *onlyGroup) {
			continue
		}
		an, err := layer.Analyze(t.Context(), runTrace(c), layer.Options{})
		if err != nil {
			t.Fatalf("%s: %s: %v", c.Group, c.Name, err)
		}
		j := judge(&an.Devices[0], c)
		out.add(c.Group, j)
		if *onlyGroup != "" && j.right < .985 {
			t.Logf("%.3f right, printed %.2f: %s: %s:%s", j.right, j.conf, c.Group, c.Name, j.what)
		}
	}
	return out
}

// TestRunsTable prints how right the answers about generated runs are, of families that no number is read from: go
// test ./layer -run RunsTable -v -battery
func TestRunsTable(t *testing.T) {
	if !*wholeBattery && *onlyGroup == "" {
		t.Skip("takes a minute: -battery")
	}
	all := families.Held()
	if *tuning {
		all = families.Tuning()
	}
	t.Log("\n" + groupsTable(t, all, *groupSeed).rows())
}

// casesOf returns some of the cases of groups whose names begin so.
func casesOf(all []families.Family, seed int64, every int, groups ...string) []families.Case {
	return families.Groups(all, seed, func(k int, group string) bool {
		return k%every == 0 && slices.ContainsFunc(groups, func(g string) bool { return strings.HasPrefix(group, g) })
	})
}

// sparse takes a third of the cases that a test looks at where testdata.Long is false.
func sparse(every int) int {
	if testdata.Long() {
		return every
	}
	return 3 * every
}

// TestLostRecordsAreTold: where a stretch of records is missing, the other passes keep their layers, and so does
// nearly all of the pass itself; its place is named within one layer, and how many are missing.
func TestLostRecordsAreTold(t *testing.T) {
	every := 5
	if !testdata.Long() {
		every = 10
	}
	cases := casesOf(families.Tuning(), 7, every, "hole, ")
	if len(cases) < 100/every {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		an, err := layer.Analyze(t.Context(), runTrace(c), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, lost := &an.Devices[0], c.Lost[0]
		if j := judge(d, c); j.right < .98 {
			t.Errorf("%s: %s: %.3f right:%s", c.Group, c.Name, j.right, j.what)
			continue
		}
		told := slices.ContainsFunc(d.Damage, func(x layer.Damage) bool {
			near := x.Layer >= lost.Layer-1 && x.Layer <= lost.Layer+1 || x.NextLayer >= lost.Layer-1 &&
				x.NextLayer <= lost.Layer+1
			return (x.Pass == lost.Pass || x.Pass == lost.Pass+1) && near && x.Kernels <= lost.Kernels+2
		})
		if !told {
			t.Errorf("%s: %s: lost %+v, told %+v", c.Group, c.Name, lost, d.Damage)
		}
		if told && !slices.ContainsFunc(an.Health.Findings,
			func(f trace.Remark) bool { return f.Code == trace.CodeRecordsMissing }) {
			t.Errorf("%s: %s: health does not say it: %+v", c.Group, c.Name, an.Health.Findings)
		}
	}
}

// TestOtherPassesKeepTheirLayers: where records of one pass are missing, each kernel of the others has the pass and the
// layer that it has in the whole trace. So it is in nearly all runs of all families: which ones are not is printed.
func TestOtherPassesKeepTheirLayers(t *testing.T) {
	every := sparse(4)
	if *wholeBattery {
		every = 1
	}
	cases, changed := 0, 0
	for _, c := range casesOf(slices.Concat(families.Tuning(), families.Held()), *groupSeed+2, every, "hole, ") {
		whole := c
		whole.Kernels = c.Whole
		type place struct{ pass, layer int }
		places := func(c families.Case) (*layer.Device, map[int64]place) {
			an, err := layer.Analyze(t.Context(), runTrace(c), layer.Options{})
			if err != nil {
				t.Fatal(err)
			}
			d, out := &an.Devices[0], map[int64]place{}
			for k := range d.Kernels() {
				if x := c.Kernels[k.Index()]; x.Pass != c.Lost[0].Pass {
					out[x.Start] = place{k.Place().Pass, k.Place().Layer}
				}
			}
			return d, out
		}
		_, before := places(whole)
		d, after := places(c)
		cases++
		other := 0
		for at, p := range after {
			if before[at] != p {
				other++
			}
		}
		if other > 0 {
			changed++
			t.Logf("%s: %s: %d of %d kernels of other passes; %d passes", c.Group, c.Name, other, len(after),
				len(d.Passes))
		}
		if !slices.ContainsFunc(c.Kernels, func(x families.Kernel) bool { return x.Stream != c.Kernels[0].Stream }) {
			passesHold(t, c.Group+": "+c.Name, d)
		}
	}
	if t.Logf("%d of %d", changed, cases); cases < 200/every || changed > 0 {
		t.Errorf("in %d of %d runs the loss changes other passes", changed, cases)
	}
}

// passesHold says that the layers of each pass, all of one stream, take no longer than the pass.
func passesHold(t *testing.T, name string, d *layer.Device) {
	t.Helper()
	for p := range d.Passes {
		fp := &d.Passes[p]
		sum := time.Duration(0)
		for _, l := range fp.Layers() {
			sum += l.Wall
		}
		if wall := time.Duration(fp.End - fp.Start); sum > wall {
			t.Errorf("%s: pass %d takes %v, its %d layers %v", name, p, wall, fp.NumLayers, sum)
		}
	}
}

// TestMixedRuns: each model has its own layers and passes: a draft, one of a single layer too, a tower, another
// language model, an encoder, and those of a pipeline of diffusion without frames. The roles of models are those that
// their kernels show.
func TestMixedRuns(t *testing.T) {
	sum := map[string][]float64{}
	for _, c := range casesOf(families.Tuning(), 7, 3, "draft", "tower", "two language", "glue", "one-layer", "diffusion",
		"encoder") {
		an, err := layer.Analyze(t.Context(), runTrace(c), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := &an.Devices[0]
		sum[c.Group] = append(sum[c.Group], judge(d, c).right)
		for _, e := range d.Evidence {
			if strings.HasPrefix(e.Detail, ":") {
				t.Errorf("%s: %s: evidence %q of a model without a name", c.Group, c.Name, e.Detail)
			}
		}
		var roles []layer.Role
		share := 0.0
		for _, m := range d.Models {
			roles = append(roles, m.Role)
			share += m.Share
		}
		want := map[string][]layer.Role{
			"diffusion pipeline":      {layer.RoleDenoiser, layer.RoleDecoder, layer.RoleEncoder},
			"one-layer draft":         {layer.RoleDraft},
			"draft beside its target": {layer.RoleDraft}, "tower and language model": {layer.RoleTower},
			"tower within a prefill": {layer.RoleTower},
		}[c.Group]
		if c.Group == "tower and language model" && slices.Contains(roles, layer.RoleEncoder) || len(c.Layers) > 1 &&
			c.Layers[0] == c.Layers[1] {
			continue // a tower of text; two models of as many layers may be taken as one
		}
		for _, role := range want {
			if !slices.Contains(roles, role) && judge(d, c).layers == 1 {
				t.Errorf("%s: %s: roles %q, want %q", c.Group, c.Name, roles, role)
			}
		}
		for p := range d.Passes {
			if fp := &d.Passes[p]; d.Models[fp.Model].Role == layer.RoleTower && fp.Partial != "" {
				t.Errorf("%s: %s: the tower's pass %d is cut at %s", c.Group, c.Name, p, fp.Partial)
			}
		}
		if share > 1.001 {
			t.Errorf("%s: %s: models have %.3f of the GPU time", c.Group, c.Name, share)
		}
	}
	if len(sum) != 9 {
		t.Fatalf("groups %v", sum)
	}
	for group, all := range sum {
		mean := 0.0
		for _, x := range all {
			mean += x / float64(len(all))
		}
		least := .98
		if group == "draft of few layers" { // models whose target has no embedding, or layers of several kinds
			least = .8
		}
		if mean < least {
			t.Errorf("%s: %.3f right on average of %d, want %.2f: %.3v", group, mean, len(all), least, all)
		}
	}
}

// TestGivenLayersSayWhose: a number of layers that a user gives is that of the model that shows it, and a note says
// which.
func TestGivenLayersSayWhose(t *testing.T) {
	for _, c := range casesOf(families.Tuning(), 7, 1, "tower") {
		if c.Layers[0] == c.Layers[1] {
			continue
		}
		for _, n := range c.Layers {
			an, err := layer.Analyze(t.Context(), runTrace(c), layer.Options{NumLayers: n})
			if err != nil {
				t.Fatalf("%s: %d layers: %v", c.Name, n, err)
			}
			if j := judge(&an.Devices[0], c); j.right < .98 || j.layers < 1 {
				t.Errorf("%s: %d layers given: %.3f right:%s", c.Name, n, j.right, j.what)
			}
			if notes := strings.Join(an.Devices[0].Notes, "; "); !strings.Contains(notes,
				fmt.Sprintf("the number of layers of --num-layers, %d, is that of the ", n)) {
				t.Errorf("%s: %d layers given: notes %q", c.Name, n, notes)
			}
		}
		return
	}
	t.Fatal("no case")
}

// TestIntactRunsHaveNoDamage: nothing is reported to be missing where nothing is.
func TestIntactRunsHaveNoDamage(t *testing.T) {
	for _, c := range casesOf(families.Tuning(), 7, sparse(6), "intact") {
		an, err := layer.Analyze(t.Context(), runTrace(c), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d := an.Devices[0].Damage; len(d) > 0 {
			t.Errorf("%s: %s: %+v", c.Group, c.Name, d)
		}
	}
}

// TestLayersOfDraftsAreDoubted: where runs of a draft model before each pass are counted as its layers, the answer
// is printed as doubtful, and says why.
func TestLayersOfDraftsAreDoubted(t *testing.T) {
	seen := 0
	for _, c := range casesOf(families.Held(), *groupSeed, 1, "hole, annotated") {
		if !strings.Contains(c.Name, "EAGLE-3 in front") {
			continue
		}
		seen++
		an, err := layer.Analyze(t.Context(), runTrace(c), layer.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d := &an.Devices[0]
		j := judge(d, c)
		said := slices.ContainsFunc(d.Evidence, func(e layer.Evidence) bool {
			return strings.Contains(e.Detail, "as runs of a draft model do")
		})
		if j.right < 0.9 && (j.conf > 0.8 || !said) {
			t.Errorf("%s: %.3f right, printed %.3f: %+v", c.Name, j.right, j.conf, d.Evidence)
		}
	}
	if seen == 0 {
		t.Error("no such run")
	}
}
