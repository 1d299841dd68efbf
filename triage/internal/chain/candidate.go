package chain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/fusion"
	"github.com/llmstrata/strata/profile/hardware"
)

// Candidate is work that one kernel could do in place of several: all runs of a stage with the same name, or all
// parts of runs that are the same chain.
type Candidate struct {
	Name      string
	Chain     *fusion.Chain // of a run the one that says most; nil for none
	At        []Occurrence
	NS        int64
	Attention bool // in pieces
	Experts   bool // in pieces

	Also []*Candidate // chains within this one
	Near []*Candidate // better ones that share kernels

	compiled int64 // time of kernels that torch.compile made
	mine     []member
}

// namedRun is a run or attention with its name.
type namedRun struct {
	run
	name      string
	chain     *fusion.Chain
	attention bool
}

// unnamed is the name of runs that no chain explains.
const unnamed = "Pointwise kernels in a row"

// AttentionInPieces is the name of attention whose scores pass through memory.
const AttentionInPieces = "Attention as bmm, softmax, bmm"

// Look is what is known of a stage besides its kernels.
type Look struct {
	GPU      *hardware.GPU // nil: not known
	Ops      Ops           // nil: none is known
	Training bool          // of gradients nothing has a name
	Chains   bool          // look for the registry's chains, too
}

// finder collects candidates.
type finder struct {
	*Recogniser
	price  *Pricer
	look   Look
	byName map[string]*Candidate
	runs   []*Candidate
	parts  []*Candidate // by chain, nil for none
	acts   []int32      // room of the occurrences' lists
}

// Candidates finds what the kernels of a stage could be fused to, most time first: runs, and the chains that are
// parts of them.
func Candidates(r *Recogniser, s *Sequences, look Look) (runs, chains []*Candidate) {
	f := &finder{Recogniser: r, price: newPricer(r, s, &look), look: look, byName: map[string]*Candidate{},
		parts: make([]*Candidate, len(r.chains))}
	var all fusion.Set
	for _, set := range s.Sets {
		all |= set
	}
	var wanted []int
	for i := range r.chains {
		if look.Chains && r.chains[i].possible(all) {
			wanted = append(wanted, i)
		}
	}
	for i := range s.List {
		for _, run := range runsOf(&s.List[i], f.price.sorts) {
			f.addRun(&run)
			window := run.window()
			for _, c := range wanted {
				f.addParts(c, &run, window)
			}
		}
	}
	byTime := func(a, b *Candidate) int { return cmp.Or(cmp.Compare(b.NS, a.NS), cmp.Compare(a.Name, b.Name)) }
	slices.SortFunc(f.runs, byTime)
	chains = slices.DeleteFunc(f.parts, func(c *Candidate) bool { return c == nil })
	slices.SortFunc(chains, byTime)
	return f.runs, chains
}

// possible reports whether each step of the chain is done by some kernel.
func (c *compiled) possible(all fusion.Set) bool {
	return !slices.ContainsFunc(c.steps, func(st compiledStep) bool { return !st.optional && all&st.any == 0 })
}

// addRun adds a run to those of its name.
func (f *finder) addRun(in *run) {
	found := f.name(in, f.price.sorts)
	if found.name == "" {
		return
	}
	if f.look.Training && found.chain == nil && !found.attention {
		found.name = unnamed
	}
	c := f.byName[found.name]
	if c == nil {
		c = &Candidate{Name: found.name, Chain: found.chain, Attention: found.attention}
		f.byName[found.name], f.runs = c, append(f.runs, c)
	}
	f.add(c, found.q, found.members)
}

// addParts adds the parts of a run that are a chain. They share no kernels.
func (f *finder) addParts(chain int, in *run, window []int32) {
	c := &f.chains[chain]
	for i := 0; i < len(window); {
		end := c.match(in.q, window, i, f.price.sorts)
		if end == i {
			i++
			continue
		}
		if f.parts[chain] == nil {
			f.parts[chain] = &Candidate{Name: c.Name, Chain: c.Chain}
		}
		f.add(f.parts[chain], in.q, window[i:end])
		i = end
	}
}

// add adds an occurrence with its price.
func (f *finder) add(c *Candidate, q *sequence, members []int32) {
	from := len(f.acts)
	var ns int64
	for _, at := range members {
		i := q.Kernels[at].Act
		f.acts = append(f.acts, i)
		ns += duration(q.Trace, i)
		if f.pool.Facts[q.Trace.Acts[i].Kernel].Facts.Library == fusion.Inductor {
			c.compiled += duration(q.Trace, i)
		}
	}
	o := Occurrence{Trace: q.Trace, Acts: f.acts[from:len(f.acts):len(f.acts)]}
	if c.Attention {
		o.Price = f.price.attention(q.Trace, o.Acts)
	} else {
		o.Price = f.price.price(q.Trace, o.Acts)
	}
	c.At = append(c.At, o)
	c.NS += ns
}

// Compiled reports whether most of the time is that of kernels that torch.compile made.
func (c *Candidate) Compiled() bool { return 2*c.compiled > c.NS }

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
		if chain, n := r.inPieces(in, i, sorts); n > 0 {
			word(chain.Name)
			if out.chain == nil || len(chain.Steps) > len(out.chain.Steps) {
				out.chain = chain
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
		out.name, out.chain = unnamed, nil
		return out
	case len(words) == 1 && out.chain == nil:
		// The same step of several tensors, such as the norms of queries and keys.
		return out
	}
	if slices.Contains(words, wordNorm) || out.chain != nil {
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

// inPieces returns the computation that the kernels of a run from position i on spell out, the longest one, and of
// how many kernels it is.
func (r *Recogniser) inPieces(in *run, i int, sorts []runSort) (best *fusion.Chain, kernels int) {
	for n := range r.chains {
		c := &r.chains[n]
		if c.Do == "" {
			continue
		}
		if end := c.match(in.q, in.members, i, sorts); end-i > kernels {
			best, kernels = c.Chain, end-i
		}
	}
	return best, kernels
}

// attention returns the members of attention in pieces: a product, a run with a softmax and nothing that chooses, and
// a product of its result. Products of batches are those of heads. nil where a run is none.
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
	return does(f.Facts, []classify.Role{classify.RoleHeadProduct}) ||
		r.pool.Operators.Texts[key.Operator] == string(classify.CategoryAttention)
}

// minOccurrences is how often what is part of the model occurs at least.
const minOccurrences = 4

// Repeats reports whether a candidate is part of the model and no chance: it occurs often, in each step of the server
// as far as it is a known chain, or is attention.
func (c *Candidate) Repeats(steps int) bool {
	n := len(c.At)
	return c.Attention || c.Experts || n >= minOccurrences || c.Chain != nil && steps > 0 && n >= steps
}

// Within reports whether these explain most of the kernels of a candidate.
func (c *Candidate) Within(rows []*Candidate) bool {
	return slices.ContainsFunc(rows, func(k *Candidate) bool {
		return 2*common(c.members(),
			k.members()) >= len(c.members())
	})
}

// Price is that of all occurrences.
func (c *Candidate) Price() Price {
	sum, _ := c.PriceUpTo(0)
	return sum
}

// Why says what a candidate rests on.
func (c *Candidate) Why() string {
	switch {
	case c.Attention:
		return "The scores of all pairs of tokens are written to memory and read back between two products."
	case c.Experts:
		return "Tokens are sorted by expert, and what the products of the experts compute is written to memory between them."
	case c.Name == unnamed:
		return "Memory-bound kernels follow one another between two products, on the same stream."
	}
	return "Each of these kernels reads what the one before it wrote to memory."
}
