package activity

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/wordmatch"
	"github.com/llmstrata/strata/triage/internal/pyframe"
)

// NOTE. A kernel replayed from a graph has no launch of its own: the frames
// around the replay call name the runner, which is the same for all kernels.
// Its source is looked for, in this order,
//
//  1. at the same place of a layer in the mapping trace, same kernel name
//  2. under the same name in the mapping trace: same stage, then any
//  3. at the same place of a layer in the mapping trace, another name
//  4. under a similar name in the mapping trace
//  5. at the same place, or under the same name, in an eager part of the trace itself
//
// and what is found nowhere is called a graph replay. Kernels that the trace
// itself launched one by one keep their own frames; those without frames go
// through 2 and 4 as well.

// siteIndex holds the sites of kernels that were launched one by one.
type siteIndex struct {
	byStage []map[int32][]SiteTime // per stage: kernel → sites by time
	any     map[int32][]SiteTime
}

func newSiteIndex(p *Pool, works []*Trace, keep func(*Kernel) bool) *siteIndex {
	x := &siteIndex{any: map[int32][]SiteTime{}}
	for range NumStages {
		x.byStage = append(x.byStage, map[int32][]SiteTime{})
	}
	for _, w := range works {
		for i := range w.Acts {
			a := &w.Acts[i]
			if a.Replay || a.Site <= SiteFromPrefill || !keep(&p.Facts[a.Kernel]) {
				continue
			}
			x.any[a.Kernel] = addSite(x.any[a.Kernel], a)
			m := x.byStage[a.Stage]
			m[a.Kernel] = addSite(m[a.Kernel], a)
		}
	}
	for _, m := range append(slices.Clone(x.byStage), x.any) {
		for k, list := range m {
			slices.SortFunc(list, func(a, b SiteTime) int {
				return cmp.Or(cmp.Compare(b.Ns, a.Ns), cmp.Compare(a.Site, b.Site), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Model, b.Model))
			})
			m[k] = list
		}
	}
	return x
}

func addSite(list []SiteTime, a *Activity) []SiteTime {
	for i := range list {
		if s := &list[i]; s.Site == a.Site && s.Op == a.Op && s.Model == a.Model {
			s.Ns += a.End - a.Start
			s.Launches++
			s.prefill = s.prefill && a.Stage == StagePrefill
			return list
		}
	}
	return append(list, SiteTime{Site: a.Site, Op: a.Op, Model: a.Model, prefill: a.Stage == StagePrefill, Ns: a.End - a.Start, Launches: 1})
}

// exact returns the sites of a kernel by its canonical name.
func (x *siteIndex) exact(kernel int32, stage int8) []SiteTime {
	if s := x.byStage[stage][kernel]; len(s) > 0 {
		return s
	}
	return x.any[kernel]
}

// similar returns the sites of the kernel whose name is nearest, nil where none
// is near.
func (x *siteIndex) similar(p *Pool, kernel int32) []SiteTime {
	want := &p.Facts[kernel]
	best, bestScore := int32(-1), 0
	for k := range x.any {
		f := &p.Facts[k]
		if f.Kind != want.Kind {
			continue
		}
		score := nameLikeness(want, f)
		if score > bestScore || score == bestScore && score > 0 && p.Name(k) < p.Name(best) {
			best, bestScore = k, score
		}
	}
	if best < 0 {
		return nil
	}
	return x.any[best]
}

// Bounds of the common-prefix rule: it holds for names longer than
// prefixNameLen letters that share at least prefixMin letters and
// prefixShare of the longer name (the reference's figures).
const (
	prefixNameLen = 96
	prefixMin     = 64
	prefixShare   = 0.4
	// shortest name that may be a prefix or part of another one; below this
	// "merge" would be found in half of all names.
	minContained = 16
)

// nameLikeness scores how near two kernel names are; 0 is not near.
func nameLikeness(a, b *Kernel) int {
	x, y := a.Canonical, b.Canonical
	short, long := x, y
	if len(short) > len(long) {
		short, long = long, short
	}
	switch {
	case len(short) >= minContained && strings.HasPrefix(long, short):
		return 4000 + len(short)
	case len(short) >= minContained && strings.Contains(long, short):
		return 3000 + len(short)
	}
	n := 0
	for n < len(short) && short[n] == long[n] {
		n++
	}
	if len(short) > prefixNameLen && n >= prefixMin && float64(n) >= prefixShare*float64(len(long)) && a.Shown.Category == b.Shown.Category {
		return 2000 + n
	}
	for _, alias := range aliases {
		if alias.a.In(a.Words) && alias.b.In(b.Words) || alias.b.In(a.Words) && alias.a.In(b.Words) {
			return 1000
		}
	}
	return 0
}

// aliases are kernels that stand for each other across launch modes.
var aliases = []struct{ a, b wordmatch.Patterns }{
	{wordmatch.CompileAll([]string{"flash_fwd_splitkv_combine", "flash_fwd_mla_combine", "flash_attn_combine"}), wordmatch.CompileAll([]string{"flash_fwd", "flash_fwd_splitkv", "flash_attn_fwd*"})},
	{wordmatch.CompileAll([]string{"kernel_mha"}), wordmatch.CompileAll([]string{"masked_multihead_attention"})},
	{wordmatch.CompileAll([]string{"applyBiasRopeUpdateKVCacheV2", "applyBiasRopeUpdateKVCache*"}), wordmatch.CompileAll([]string{"fused_qk_norm_rope", "fused_qknorm_rope", "fusedQKNormRope*"})},
	{wordmatch.CompileAll([]string{"memset"}), wordmatch.CompileAll([]string{"memset"})},
}

// anyKernel keeps all kernels for an index.
func anyKernel(*Kernel) bool { return true }

// telling keeps kernels whose name alone tells what they are used for.
// Elementwise kernels, copies and matrix products are used all over a model: a
// launch found elsewhere in the trace says nothing about another one.
func telling(f *Kernel) bool {
	switch f.Shown.Category {
	case classify.CategoryNorm, classify.CategoryRope, classify.CategoryAttention, classify.CategoryMoE, classify.CategoryKVCache,
		classify.CategoryHybridLinear, classify.CategoryCommunication:
		return true
	}
	return false
}

// answer is where a kernel comes from by its name: sites by time.
type answer struct {
	sites []SiteTime
	from  Origin
}

// question is what an answer depends on.
type question struct {
	kernel int32
	stage  int8
	replay bool
}

// named looks a kernel up by its name.
func (a *attribution) named(q question, mapping, eager *siteIndex) answer {
	if s := mapping.exact(q.kernel, q.stage); len(s) > 0 {
		return answer{s, FromMapping}
	}
	if s := mapping.similar(a.pool, q.kernel); len(s) > 0 {
		return answer{s, FromMapping}
	}
	if s := eager.exact(q.kernel, q.stage); len(s) > 0 && q.replay {
		return answer{s, FromMapping}
	}
	return answer{}
}

// attribution gives the replays of formal traces their sources.
type attribution struct {
	pool            *Pool
	formal, mapping []*Trace
}

// Attribute gives replayed activities of the formal traces the source of the kernel they stand for; refused says why the mapping
// traces tell nothing of one, "" where they do.
func Attribute(ctx context.Context, p *Pool, formal, mapping []*Trace) (refused string, err error) {
	a := &attribution{p, formal, mapping}
	mapped, none := newSiteIndex(p, mapping, anyKernel), newSiteIndex(p, nil, anyKernel)
	eager := newSiteIndex(p, formal, telling)
	for _, w := range formal {
		twins, err := a.twins(ctx, w)
		if err != nil {
			return "", err
		}
		index := mapped
		if why := w.mappingRefused(); why != "" {
			index, refused = none, why
		}
		a.attributeTrace(w, twins, index, eager)
	}
	a.dropPrefillLines()
	return refused, ctx.Err()
}

// attributeTrace does it for one trace.
func (a *attribution) attributeTrace(w *Trace, twins twinTable, mapping, eager *siteIndex) {
	if twins.byAct == nil && len(mapping.any)+len(eager.any) == 0 {
		return // nothing is known of any kernel
	}
	known := map[question]answer{}
	// Launches of one kernel are dealt out to its sites in proportion to
	// their time there: the n-th launch goes to the site whose share it
	// falls in, so that the sums come out and the result is repeatable.
	given := map[question]int64{}
	for i := range w.Acts {
		act := &w.Acts[i]
		if !act.Replay && act.Site != SiteUnresolved {
			continue
		}
		tw, aligned := twins.at(i)
		if aligned && tw.sameName {
			act.Site, act.Op, act.Model, act.From = tw.site, tw.op, tw.model, FromAlignment
			continue
		}
		q := question{act.Kernel, act.Stage, act.Replay}
		ans, ok := known[q]
		if !ok {
			ans = a.named(q, mapping, eager)
			known[q] = ans
		}
		if aligned && (len(ans.sites) == 0 || mapping.any[q.kernel] == nil) {
			act.Site, act.Op, act.Model, act.From = tw.site, tw.op, tw.model, FromAlignment
			continue
		}
		if len(ans.sites) > 0 {
			s := deal(ans.sites, given[q])
			given[q] += act.End - act.Start
			act.Site, act.Model, act.From = s.Site, s.Model, ans.from
			if act.Replay && s.prefill && act.Stage == StageDecode {
				act.Model = a.pool.modelForDecode(s.Model)
			}
			if s.Op != 0 {
				act.Op = s.Op
			}
		}
	}
}

// dropPrefillLines takes back what replays of a decode were given of a prefill alone: a line in a function of which the server
// has another one for decode.
func (a *attribution) dropPrefillLines() {
	drop := make([]bool, len(a.pool.Sites.Texts))
	for i, text := range a.pool.Sites.Texts {
		_, _, fn := pyframe.SplitLocation(text)
		drop[i] = framework.StageOfFunction(fn) == framework.Prefill
	}
	for _, w := range a.formal {
		for i := range w.Acts {
			if act := &w.Acts[i]; act.Replay && act.Stage == StageDecode && drop[act.Site] {
				act.Site = SiteFromPrefill
			}
		}
	}
}

// deal returns the site in whose share of the total the given time falls.
func deal(sites []SiteTime, given int64) SiteTime {
	var total int64
	for _, s := range sites {
		total += s.Ns
	}
	if total == 0 {
		return sites[0]
	}
	at := given % total
	for _, s := range sites {
		if at < s.Ns {
			return s
		}
		at -= s.Ns
	}
	return sites[0]
}
