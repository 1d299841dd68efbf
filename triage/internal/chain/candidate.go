package chain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/triage/internal/activity"
)

// Candidate is work that one kernel could do in place of several: all runs of a stage with the same name.
type Candidate struct {
	Name      string
	Idiom     *fusion.Idiom // the one that says most, nil for none
	At        []Occurrence
	NS        int64 // members only
	Price     Price
	Attention bool // in pieces

	compiled int64 // time of kernels that torch.compile made

	mine []member
}

// namedRun is a run or attention with its name.
type namedRun struct {
	run
	name      string
	idiom     *fusion.Idiom
	attention bool
}

// pricedOccurrences is how many occurrences of a candidate are priced: those of one name have the shapes of one model, and the
// price of the others is that of their share of the time.
const pricedOccurrences = 256

// unnamed is the name of runs that no idiom explains.
const unnamed = "Pointwise kernels in a row"

// AttentionInPieces is the name of attention whose scores pass through memory.
const AttentionInPieces = "Attention as bmm, softmax, bmm"

// Look is what is known of a stage besides its kernels.
type Look struct {
	Peaks    Peaks
	Training bool // of gradients nothing has a name
}

// Candidates finds what the kernels of a stage could be fused to, most time first.
func Candidates(r *Recogniser, s *Sequences, p *Pricer, look Look) []*Candidate {
	sorts := p.sorts
	byName := map[string]*Candidate{}
	var out []*Candidate
	priced := map[*Candidate]int64{} // time of the occurrences that are priced
	for i := range s.List {
		q := &s.List[i]
		runs := runsOf(q, sorts)
		for n := range runs {
			found := r.name(&runs[n], sorts)
			if found.name == "" {
				continue
			}
			if look.Training && found.idiom == nil && !found.attention {
				found.name = unnamed
			}
			c := byName[found.name]
			if c == nil {
				c = &Candidate{Name: found.name, Idiom: found.idiom, Attention: found.attention}
				byName[found.name] = c
				out = append(out, c)
			}
			ns := c.add(r.pool, &found)
			acts := c.At[len(c.At)-1].acts
			if len(c.At) > pricedOccurrences {
				continue
			}
			priced[c] += ns
			if found.attention {
				c.Price.add(p.attention(q.Trace, acts, look.Peaks))
			} else {
				c.Price.add(p.price(q.Trace, acts))
			}
		}
	}
	for _, c := range out {
		c.Price.scale(c.NS, priced[c])
	}
	slices.SortStableFunc(out, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Name, b.Name))
	})
	return out
}

// Compiled reports whether most of the time is that of kernels that torch.compile made.
func (c *Candidate) Compiled() bool { return 2*c.compiled > c.NS }

// scale makes the price of a part that of the whole.
func (p *Price) scale(whole, part int64) {
	if part <= 0 || whole == part {
		return
	}
	f := float64(whole) / float64(part)
	for _, ns := range []*int64{&p.Low, &p.GPU, &p.High, &p.Gaps} {
		*ns = int64(float64(*ns) * f)
	}
	p.Moved, p.Needed, p.Launches = p.Moved*f, p.Needed*f, int(float64(p.Launches)*f)
}

// add adds an occurrence and returns its time.
func (c *Candidate) add(p *activity.Pool, r *namedRun) (ns int64) {
	o := Occurrence{Trace: r.q.Trace, members: int32(len(r.members)), acts: make([]int32, len(r.members))}
	for i, at := range r.members {
		k := r.q.Kernels[at]
		o.acts[i] = k.Act
		act := &r.q.Trace.Acts[k.Act]
		ns += act.End - act.Start
		if p.Facts[act.Kernel].Facts.Library == fusion.Inductor {
			c.compiled += act.End - act.Start
		}
	}
	c.At = append(c.At, o)
	c.NS += ns
	return ns
}

// name says what a run computes, "" where it is no candidate.
func (r *Recogniser) name(in *run, sorts []runSort) namedRun {
	out := namedRun{run: *in}
	sort := func(at int32) *runSort { return &sorts[in.q.Kernels[at].Sort] }
	if members := r.attention(in, sorts); members != nil {
		out.members, out.name, out.attention = members, AttentionInPieces, true
		return out
	}
	if len(in.members) < 2 || r.compiled(in) {
		return out
	}
	var words []string
	word := func(w string) {
		if !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	copies, other, adds, explained := 0, 0, 0, 0
	for i := 0; i < len(in.members); {
		if idiom, n := r.idiom(in, i, sorts); n > 0 {
			word(idiom.Name)
			if out.idiom == nil || len(idiom.Steps) > len(out.idiom.Steps) {
				out.idiom = idiom
			}
			i += n
			explained += n
			continue
		}
		switch w := sort(in.members[i]).word; w {
		case wordCopy:
			copies++
		case wordPointwise, wordMultiply:
			other++
		case wordAdd:
			word(w)
			adds++
		default:
			word(w)
			explained++
		}
		i++
	}
	named := slices.DeleteFunc(slices.Clone(words), func(w string) bool { return w == wordAdd })
	switch {
	case len(named) == 0 && len(words) == 0 && other == 0:
		return out // copies of different tensors
	case len(named) == 0, 2*(explained+min(1, adds)) < len(in.members)-copies:
		out.name, out.idiom = unnamed, nil
		return out
	case len(words) == 1 && out.idiom == nil && copies > 0 && other == 0:
		words = append(words, wordCopy)
	case len(words) == 1 && out.idiom == nil && other > 0:
		words = append(words, wordPointwise)
	case len(words) == 1 && out.idiom == nil:
		// The same step of several tensors, such as the norms of queries and keys.
		return out
	}
	if slices.Contains(words, wordNorm) || out.idiom != nil {
		for i := range words {
			if words[i] == wordAdd {
				words[i] = "residual add"
			}
		}
	}
	out.name = strings.ToUpper(words[0][:1]) + strings.Join(words, " + ")[1:]
	return out
}

// compiled reports whether torch.compile made all kernels of a run: it saw them together and kept them apart.
func (r *Recogniser) compiled(in *run) bool {
	return !slices.ContainsFunc(in.members, func(at int32) bool {
		return r.pool.Facts[in.q.Trace.Acts[in.q.Kernels[at].Act].Kernel].Facts.Library != fusion.Inductor
	})
}

// idiom returns the idiom that the kernels of a run from position i on are, the longest one, and of how many kernels it is.
func (r *Recogniser) idiom(in *run, i int, sorts []runSort) (best *fusion.Idiom, kernels int) {
	for n := range r.reg.Idioms {
		d := &r.reg.Idioms[n]
		if end := r.matchIdiom(d, in, i, sorts); end-i > kernels {
			best, kernels = d, end-i
		}
	}
	return best, kernels
}

// matchIdiom returns the position behind an idiom that begins at i, i where it does not. Between its steps copies and scalar
// arithmetic may stand.
func (r *Recogniser) matchIdiom(d *fusion.Idiom, in *run, i int, sorts []runSort) int {
	const between = 2
	at := i
	for n, st := range d.Steps {
		set, optional := r.reg.Set(st.Any), st.Optional
		found := false
		for skipped := 0; at+skipped < len(in.members) && skipped <= between; skipped++ {
			s := &sorts[in.q.Kernels[in.members[at+skipped]].Sort]
			if s.steps&set != 0 {
				at += skipped + 1
				found = true
				break
			}
			if n == 0 || s.word != wordCopy && s.word != wordPointwise && s.word != wordAdd {
				break
			}
		}
		if !found && !optional {
			return i
		}
	}
	return at
}

// attention returns the members of attention in pieces: a product, a run with a softmax and nothing that chooses, and a product
// of its result. Products of batches are those of heads. nil where a run is none.
func (r *Recogniser) attention(in *run, sorts []runSort) []int32 {
	if in.before == nowhere || in.after == nowhere {
		return nil
	}
	has := slices.ContainsFunc(in.members, func(at int32) bool { return sorts[in.q.Kernels[at].Sort].softmax })
	if !has || !r.ofHeads(in, in.before, sorts) || !r.ofHeads(in, in.after, sorts) {
		return nil
	}
	members := append([]int32{in.before}, in.members...)
	return append(members, in.after)
}

// batched are the ops that multiply the matrices of a batch.
var batched = []string{"aten::bmm", "aten::baddbmm", "aten::matmul", "aten::einsum"}

// ofHeads reports whether a kernel is a product of each head: its op says so, or the layer.
func (r *Recogniser) ofHeads(in *run, at int32, sorts []runSort) bool {
	k := in.q.Kernels[at]
	if !sorts[k.Sort].product {
		return false
	}
	key := in.q.Trace.Acts[k.Act]
	if slices.Contains(batched, r.pool.Ops.Texts[key.Op]) {
		return true
	}
	f := &r.pool.Facts[key.Kernel]
	return does(&f.Facts, []classify.Role{classify.RoleHeadProduct}) || r.pool.Operators.Texts[key.Operator] == string(classify.CategoryAttention)
}

// Repeats reports whether a candidate is part of the model and no chance: it occurs often, or in what is said to be attention.
func (c *Candidate) Repeats() bool { return c.Attention || len(c.At) >= minOccurrences }

// Within reports whether the rows of the registry explain most of the kernels of a candidate.
func (c *Candidate) Within(rows []*Match) bool {
	if c.mine == nil {
		c.mine = (&Match{At: c.At}).members()
	}
	for _, m := range rows {
		if 2*common(c.mine, m.members()) >= len(c.mine) {
			return true
		}
	}
	return false
}

// Why says what a candidate rests on.
func (c *Candidate) Why() string {
	switch {
	case c.Attention:
		return "The scores of all pairs of tokens are written to memory and read back between two products."
	case c.Name == unnamed:
		return "Kernels bound by memory run one behind the other between two products, on the same stream."
	}
	return "Each of these kernels reads what the one before it wrote to memory."
}
