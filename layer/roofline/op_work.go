package roofline

import (
	"cmp"
	"math"
	"strings"

	"github.com/llmstrata/strata/internal/stat"
)

// Work is what one op has to do, which a recording may show only in part: FLOP and Bytes are the least, MostFLOP
// and MostBytes the most, 0 where they are the same.
type Work struct {
	// M, N, K are the sizes of one product; 0 for others.
	M, N, K int64
	// Requests of Queries tokens each see Keys tokens in attention; 0 for others.
	Requests, Queries, Keys int64
	// FLOP counts multiplications and additions, Bytes each tensor once.
	FLOP, Bytes         float64
	MostFLOP, MostBytes float64
	// Open says that nothing recorded bounds the work from above.
	Open bool
	// Matrix is the type that matrix units compute in; "" for ops that use none.
	Matrix string
	// Kind is what the op is.
	Kind OpKind

	// perPair and perKey are FLOP and bytes of one more pair of query and key, and of one more cached token, where how
	// many there are is not recorded with the op.
	perPair, perKey float64
}

// most are FLOP and bytes at most.
func (w *Work) most() (flop, bytes float64) {
	return max(w.FLOP, w.MostFLOP), max(w.Bytes, w.MostBytes)
}

// bound gives attention whose cache is not recorded the most that its step can need, nil for a step that does not
// say: a mask or window, which is not recorded either, may leave less.
func (w *Work) bound(l *Load) {
	switch {
	case w.perPair == 0:
	case l == nil || !l.KnownSeen:
		w.Open = true
	default:
		w.MostFLOP = max(w.FLOP, l.pairs()*w.perPair)
		w.MostBytes = w.Bytes + max(0, l.ContextSeen+l.GenerationSeen-float64(l.Tokens))*w.perKey
	}
}

// OpKind is a sort of ops.
type OpKind uint8

// The sorts of ops.
const (
	OpOther     OpKind = iota // element-wise, norms, reductions and all others that move data and compute little
	OpProduct                 // matrix products and convolutions
	OpAttention               // attention cores
	OpExperts                 // products of routed experts
	OpCopy                    // copies, casts and fills
)

// A formula counts the work of an op; false if its inputs do not give it.
type formula func(in *Inputs) (Work, bool)

// sane reports whether figures can be counted with.
func (w *Work) sane() bool {
	for _, f := range []float64{w.FLOP, w.Bytes, w.MostFLOP, w.MostBytes} {
		if math.IsNaN(f) || f < 0 || f > 1e21 {
			return false
		}
	}
	return w.FLOP > 0 || w.Bytes > 0
}

// slower is the type of two operands whose peak bounds their product: the wider.
func slower(a, b string) string {
	if typeSizes[b] > typeSizes[a] {
		return b
	}
	return a
}

// matrixType is the type as hardware tables name it.
func matrixType(t string) string {
	switch t {
	case typeTwoFP4:
		return "fp4"
	case typeByte:
		return "int8"
	}
	return t
}

// dense counts batch products of M×K and K×N elements that take a, b and o bytes each.
func dense(batch, m, n, k float64, a, b, o float64, types string) Work {
	return Work{M: int64(m), N: int64(n), K: int64(k), FLOP: 2 * batch * m * n * k,
		Bytes: batch * (a*m*k + b*k*n + o*m*n), Matrix: matrixType(types), Kind: OpProduct}
}

// fit gives the sizes of some inputs, one letter an axis: "MK KN" are a matrix and one of as many rows as that has
// columns. False where a letter would have two sizes, or an input has other axes.
func (in *Inputs) fit(pattern string, at ...int) (sizes [128]float64, ok bool) {
	bound := [128]bool{}
	for i, axes := range strings.Fields(pattern) {
		d := in.Dim(at[i])
		if len(d) != len(axes) {
			return sizes, false
		}
		for k, n := range d {
			c := axes[k]
			if bound[c] && sizes[c] != float64(n) {
				return sizes, false
			}
			bound[c], sizes[c] = true, float64(n)
		}
	}
	return sizes, true
}

// dot is the product of two inputs of M, N, K and B sizes, see fit; a third one is the result, which else has the type
// of the first.
func dot(pattern string, at ...int) formula {
	return func(in *Inputs) (Work, bool) {
		s, ok := in.fit(pattern, at...)
		for _, c := range "BN" {
			if !strings.ContainsRune(pattern, c) {
				s[c] = 1
			}
		}
		if in.Type(at[0]) == typeTwoFP4 {
			s['K'] *= 2
		}
		size := in.Size(at[0])
		if len(at) > 2 {
			size = in.Size(at[2])
		}
		return in.product(at[0], at[1], s['B'], s['M'], s['N'], s['K'], size), ok && in.Size(at[0]) > 0
	}
}

// product counts a product of two inputs, each read as far as it lies in memory.
func (in *Inputs) product(a, b int, batch, m, n, k, out float64) Work {
	w := dense(batch, m, n, k, 0, 0, out, slower(in.Type(a), in.Type(b)))
	size := in.Size(b)
	if size == 0 {
		size = in.Size(a)
	}
	w.Bytes += in.Bytes(a) + in.Stored(b)*size
	return w
}

// plus adds an input that is added to the product, read as far as it lies in memory, unless its factor is 0.
func plus(f formula, bias, beta int) formula {
	return func(in *Inputs) (Work, bool) {
		w, ok := f(in)
		if ok && len(in.Dim(bias)) > 0 && (beta == absent || in.Value(beta) != "0") {
			w.Bytes += in.Bytes(bias)
		}
		return w, ok
	}
}

// matmul is torch.matmul: batch dimensions broadcast, vectors are matrices of one row or column.
func matmul(in *Inputs) (Work, bool) {
	x, y := in.Dim(0), in.Dim(1)
	if len(x) == 0 || len(y) == 0 || in.Size(0) == 0 {
		return Work{}, false
	}
	if len(x) == 1 {
		x = []int64{1, x[0]}
	}
	if len(y) == 1 {
		y = []int64{y[0], 1}
	}
	k := x[len(x)-1]
	if k != y[len(y)-2] {
		return Work{}, false
	}
	batch := (&Inputs{Dims: [][]int64{x[:len(x)-2], y[:len(y)-2]}}).broadcast([]int{0, 1})
	if batch == nil && len(x)+len(y) > 4 {
		return Work{}, false
	}
	m, n := float64(x[len(x)-2]), float64(y[len(y)-1])
	return in.product(0, 1, max(product(batch), 1), m, n, float64(k), in.Size(0)), true
}

// weight is the product of input a (…,K) and a weight b (N,K). Values give the type of the result where dtype is not
// negative, else out does where it is a tensor; else it is that of a, or two bytes where a is narrower.
func weight(a, b, out, dtype int) formula {
	return func(in *Inputs) (Work, bool) {
		x, y := in.Dim(a), in.Dim(b)
		if len(x) < 2 || len(y) != 2 || x[len(x)-1] != y[1] || in.Size(a) == 0 {
			return Work{}, false
		}
		size := max(in.Size(a), 2)
		if o := in.Dim(out); len(o) > 0 && o[len(o)-1] == y[0] && in.Size(out) > 0 {
			size = in.Size(out)
		} else if t := scalarTypes[in.Value(dtype)]; t != "" {
			size = typeSizes[t]
		}
		return in.product(a, b, 1, product(x[:len(x)-1]), float64(y[0]), float64(y[1]), size), true
	}
}

// scaled adds the scales of quantised operands.
func scaled(f formula, inputs ...int) formula {
	return func(in *Inputs) (Work, bool) {
		w, ok := f(in)
		for _, i := range inputs {
			if ok {
				w.Bytes += in.Bytes(i)
			}
		}
		return w, ok
	}
}

// scaledMM is aten::_scaled_mm: the second operand is (K,N), the result's type a value.
func scaledMM(in *Inputs) (Work, bool) {
	w, ok := scaled(dot("MK KN", 0, 1), 2, 3, 4)(in)
	if t := scalarTypes[in.Value(6)]; t != "" {
		w.Bytes += float64(w.M) * float64(w.N) * (typeSizes[t] - in.Size(0))
	}
	return w, ok
}

// packed multiplies activations (M,K) with packed weights: as many bytes as they take, and N from the scales (K/g,N,…).
func packed(scales int) formula {
	return func(in *Inputs) (Work, bool) {
		x, s := in.Dim(0), in.Dim(scales)
		if len(x) != 2 || len(s) == 0 || in.Size(0) == 0 {
			return Work{}, false
		}
		n := s[0]
		if len(s) > 1 {
			n = s[1]
		}
		m, k := float64(x[0]), float64(x[1])
		w := dense(1, m, float64(n), k, in.Size(0), 0, in.Size(0), in.Type(0))
		w.Bytes += in.Bytes(1) + in.Bytes(scales)
		return w, true
	}
}

// fp4 multiplies operands of two values a byte, "MA NH" of A = H or, not packed, 2H, with a scale of a byte for each 32
// values.
func fp4(pattern string) formula {
	return func(in *Inputs) (Work, bool) {
		s, ok := in.fit(pattern, 0, 1)
		a, t, k := 0.5+1.0/32, "fp4", 2*s['H']
		if s['A'] == k {
			a, t = in.Size(0), in.Type(0)
		}
		if pattern[0] != 'B' {
			s['B'] = 1
		}
		return dense(s['B'], s['M'], s['N'], k, a, 0.5+1.0/32, 2, t), ok && (s['A'] == k || s['A'] == s['H'])
	}
}

// grouped is a product of rows (M,K) with the weights of their groups (G,K,N) or (G,N,K):
// at least one group has rows.
func grouped(in *Inputs) (Work, bool) {
	s, ok := in.fit("MK GKN", 0, 1)
	if !ok {
		s, ok = in.fit("MK GNK", 0, 1)
	}
	if !ok {
		return dot("BMK BKN", 0, 1)(in)
	}
	w := dense(1, s['M'], s['N'], s['K'], in.Size(0), in.Size(1), max(in.Size(0), 2), slower(in.Type(0), in.Type(1)))
	w.Kind = OpExperts
	w.MostBytes = w.Bytes + (min(s['G'], s['M'])-1)*in.Size(1)*s['K']*s['N']
	return w, s['M'] > 0 && in.Size(0) > 0 && in.Size(1) > 0
}

// heads are the sizes of attention: requests, heads of queries and of keys, tokens of both, sizes of heads.
type headSizes struct{ b, hq, hk, nq, nk, dk, dv float64 }

// layouts of attention, see fit: heads before tokens, or after them.
const (
	headsFirst  = "BHQD BGKD BGKE"
	tokensFirst = "BQHD BKGD BKGE"
)

func (in *Inputs) heads(at int, order string) (headSizes, bool) {
	s, ok := in.fit(cmp.Or(order, headsFirst), at, at+1, at+2)
	h := headSizes{s['B'], s['H'], s['G'], s['Q'], s['K'], s['D'], s['E']}
	return h, ok && h.hk > 0 && h.hq >= h.hk && in.Size(at) > 0
}

// sdpa is one of PyTorch's or FlashAttention's forms of attention.
type sdpa struct {
	q        int    // index of the queries; keys and values follow
	order    string // headsFirst where it is ""
	causal   int    // index of the flag
	bias     int    // index of a tensor that is added to the scores; 0: none, as for the window
	window   int    // index of the tokens back that are seen, forward ones after it
	bottom   bool
	lse      bool
	backward bool
}

// pairs of query and key that attention computes.
func (h *headSizes) pairs(causal, bottom bool) float64 {
	switch {
	case !causal:
		return h.nq * h.nk
	case h.nq <= h.nk && bottom:
		return h.nq*h.nk - h.nq*(h.nq-1)/2
	case h.nq <= h.nk:
		return h.nq * (h.nq + 1) / 2
	}
	return h.nk*(h.nk+1)/2 + float64(stat.Int(!bottom))*(h.nq-h.nk)*h.nk
}

// sees is how many tokens before and after its own one sees, by a window's two values; infinite where it has none.
func (in *Inputs) sees(window, causal int) (back, ahead float64) {
	sides := [2]float64{math.Inf(1), math.Inf(1)}
	for i := range sides {
		if x := in.Ints(window + i); len(x) == 1 && x[0] >= 0 {
			sides[i] = float64(x[0])
		}
	}
	if in.Flag(causal) {
		sides[1] = 0
	}
	return sides[0], sides[1]
}

// within counts the pairs of the last nq of nk tokens and the tokens that they see.
func within(nq, nk, back, ahead float64) float64 {
	side := func(n, window float64) float64 { // of the first n tokens, each has as many before it, or the window's
		if n <= window+1 {
			return n * (n - 1) / 2
		}
		return window*(window+1)/2 + (n-window-1)*window
	}
	return nq + side(nk, back) - side(nk-nq, back) + side(nq, ahead)
}

func (s sdpa) formula(in *Inputs) (Work, bool) {
	h, ok := in.heads(s.q, s.order)
	if !ok {
		return Work{}, false
	}
	e := in.Size(s.q)
	unknown := in.Value(s.causal) == "" // then it may be causal
	pairs, most := h.pairs(unknown || in.Flag(s.causal), s.bottom), h.nq*h.nk
	if s.window > 0 {
		back, ahead := in.sees(s.window, s.causal)
		n := min(h.nq, h.nk)
		pairs, most = within(n, h.nk, back, ahead), min(most, h.nq*(back+ahead+1))
		if unknown {
			pairs = within(n, h.nk, back, 0)
		}
		if len(in.Values) == 0 { // it may be as short as a token
			pairs = min(pairs, h.nq)
		}
	}
	q, k, v, o := h.b*h.hq*h.nq*h.dk, h.b*h.hk*h.nk*h.dk, h.b*h.hk*h.nk*h.dv, h.b*h.hq*h.nq*h.dv
	w := Work{FLOP: 2 * h.b * h.hq * pairs * (h.dk + h.dv), Bytes: e * (q + k + v + o),
		Matrix: matrixType(in.Type(s.q)), Kind: OpAttention,
		Requests: int64(h.b), Queries: int64(h.nq), Keys: int64(h.nk)}
	if s.lse {
		w.Bytes += 4 * h.b * h.hq * h.nq
	}
	if s.bias > 0 {
		w.Bytes += in.Bytes(s.bias)
	}
	if s.backward { // dv, dp, dq, dk and the scores again; reads o and its gradient, writes three
		w.FLOP = 2 * h.b * h.hq * pairs * (3*h.dk + 2*h.dv)
		w.Bytes = e*(2*q+2*k+2*v+2*o) + 4*h.b*h.hq*h.nq
	}
	if unknown && pairs < most {
		w.MostFLOP = w.FLOP * most / pairs
	}
	return w, true
}

// varlen is attention of tokens of all requests one after another, (T,H,d): how long each request is, only bounds are
// recorded of. A window's two values follow causal. pages is a list of the pages of one token each of a cache that keys
// and values are in; absent: they are those of the requests.
func varlen(at, starts, most, causal, pages int) formula {
	return func(in *Inputs) (Work, bool) {
		s, ok := in.fit("THD KGD KGE S", at, at+1, at+2, starts)
		if !ok || s['S'] < 2 || s['T'] == 0 || in.Size(at) == 0 {
			return Work{}, false
		}
		n, t, m := s['S']-1, s['T'], 0.0
		if x := in.Ints(most); len(x) == 1 {
			m = float64(x[0])
		}
		keys, mostKeys := s['K'], s['K']
		longest := mostKeys  // that a token sees
		if pages != absent { // requests see what they compute at least, all pages at most, and none more than the longest
			keys, mostKeys = t, in.Elements(pages)
			if x := in.Ints(most + 1); len(x) == 1 {
				longest = float64(x[0])
				mostKeys = min(mostKeys, n*longest)
			}
			mostKeys = max(mostKeys, t)
		}
		back, ahead := in.sees(causal+1, causal)
		least := ahead
		if in.Value(causal) == "" { // it may be causal
			least = 0
		}
		pairs := func(n float64) float64 { return within(n, n, back, least) }
		// All others are equal at least, or as many as possible are of the longest.
		low, high := n*pairs(t/n), t*t
		switch {
		case keys != t || len(in.Values) == 0: // prefixes in the cache, or any window: a token sees one at least
			low = t
		case m > 0 && m <= t && m*n >= t:
			high = math.Floor(t/m)*m*m + math.Pow(math.Mod(t, m), 2)
			if low = pairs(m); n > 1 {
				low += (n - 1) * pairs((t-m)/(n-1))
			}
		}
		if in.Flag(causal) && mostKeys == t {
			high = (high + t) / 2
		} else if mostKeys > t {
			high = t * min(longest, mostKeys)
		}
		high = min(high, t*(back+ahead+1))
		each := 2 * s['H'] * (s['D'] + s['E'])
		e, one := in.Size(at), s['G']*(s['D']+s['E'])
		w := Work{FLOP: low * each, MostFLOP: high * each, Matrix: matrixType(in.Type(at)), Kind: OpAttention,
			Bytes: e * (t*s['H']*(s['D']+s['E']) + keys*one)}
		w.MostBytes = w.Bytes + e*(mostKeys-keys)*one
		return w, true
	}
}

// served is attention of a serving engine over a cache whose length is not recorded: tokens of queries, keys and
// values that are new. A token sees itself at least; the step may say how many it sees at most, see [Work.bound].
func served(in *Inputs) (Work, bool) {
	x, y, z := in.Dim(0), in.Dim(1), in.Dim(2)
	if len(x) < 2 || len(y) < 2 || len(z) < 2 || x[0] != y[0] || in.Size(0) == 0 {
		return Work{}, false
	}
	wide := product(x) + product(z)*product(x[1:])/product(y[1:])
	e := in.Size(0)
	fresh := product(y) + product(z)
	return Work{FLOP: 2 * wide, Bytes: e * (wide + fresh), Matrix: matrixType(in.Type(0)), Kind: OpAttention,
		perPair: 2 * wide / float64(x[0]), perKey: e * fresh / float64(x[0])}, true
}

// paged is attention over a paged cache: requests × heads of queries, blocks of a pool, the blocks of each request,
// and as a value how many tokens a block has. A request sees a token at least, all of its blocks at most.
func paged(out, q, cache, tables, block int) formula {
	return func(in *Inputs) (Work, bool) {
		x, c, t := in.Dim(q), in.Dim(cache), in.Dim(tables)
		if len(x) != 3 || len(c) < 4 || in.Size(q) == 0 || in.Size(cache) == 0 {
			return Work{}, false
		}
		b, hq, d := float64(x[0]), float64(x[1]), float64(x[2])
		hk := float64(c[1])
		if hk > hq {
			hk = float64(c[2])
		}
		one := 2 * hk * d * in.Size(cache)
		w := Work{FLOP: 4 * b * hq * d, Bytes: in.Bytes(q) + b*hq*d*max(in.Size(out), in.Size(q)) + b*one,
			Matrix: matrixType(in.Type(q)), Kind: OpAttention}
		if n := in.Ints(block); len(t) == 2 && t[0] == x[0] && len(n) == 1 && n[0] > 0 && t[1] > 0 {
			most := float64(t[1]) * float64(n[0])
			w.MostFLOP, w.MostBytes = w.FLOP*most, w.Bytes+b*one*(most-1)
		}
		return w, true
	}
}

// conv is a convolution of any number of dimensions: x (N,Cin,…), w (Cout,Cin/groups,…), with lists of values.
type conv struct {
	bias, stride, pad, dilation, transposed, outPad, groups int // indices; 0: none
	always                                                  bool
}

// spatial returns the numbers of a list for each of n dimensions; a single one counts for all, none is what is given.
func (in *Inputs) spatial(i, n int, otherwise int64) []int64 {
	v := in.Ints(i)
	out := make([]int64, n)
	for k := range out {
		switch {
		case len(v) == n:
			out[k] = v[k]
		case len(v) == 1:
			out[k] = v[0]
		default:
			out[k] = otherwise
		}
	}
	return out
}

func (c conv) formula(in *Inputs) (Work, bool) {
	x, k := in.Dim(0), in.Dim(1)
	if len(k) < 3 || len(x) != len(k) && len(x) != len(k)-1 || in.Size(0) == 0 {
		return Work{}, false
	}
	if len(x) == len(k)-1 {
		x = append([]int64{1}, x...)
	}
	n := len(k) - 2
	if in.Value(c.stride) == "" || in.Value(c.pad) == "" {
		return Work{}, false // how many positions there are is not recorded
	}
	stride, pad, dilation, more := in.spatial(c.stride, n, 1), in.spatial(c.pad, n, 0), in.spatial(c.dilation, n, 1),
		in.spatial(c.outPad, n, 0)
	groups := int64(1)
	if g := in.Ints(c.groups); len(g) == 1 && g[0] > 0 {
		groups = g[0]
	}
	transposed := c.always || in.Flag(c.transposed)
	channels := k[0]
	if transposed {
		channels = k[1] * groups
		if x[1] != k[0] {
			return Work{}, false
		}
	} else if x[1] != k[1]*groups {
		return Work{}, false
	}
	out := float64(x[0]) * float64(channels)
	for i := range n {
		reach := dilation[i]*(k[2+i]-1) + 1
		var side int64
		switch {
		case stride[i] <= 0:
			return Work{}, false
		case transposed:
			side = (x[2+i]-1)*stride[i] - 2*pad[i] + reach + more[i]
		case reach <= x[2+i]+2*pad[i]:
			side = (x[2+i]+2*pad[i]-reach)/stride[i] + 1
		}
		if side <= 0 {
			return Work{}, false
		}
		out *= float64(side)
	}
	taps := product(k[1:])
	w := Work{FLOP: 2 * out * taps, Bytes: in.Bytes(0) + in.Stored(1)*max(in.Size(1), in.Size(0)) + out*in.Size(0),
		Matrix: matrixType(in.Type(0)), Kind: OpProduct}
	if transposed {
		w.FLOP = 2 * product(x) * taps
	}
	if c.bias > 0 && len(in.Dim(c.bias)) > 0 {
		w.FLOP += out
		w.Bytes += in.Bytes(c.bias)
	}
	return w, true
}

// convBackward computes what its mask asks for: gradients of the input, of the weight, of the bias.
func convBackward(in *Inputs) (Work, bool) {
	forward := in.arranged([]int{1, 2, absent, 4, 5, 6, 7, absent, 9})
	one, ok := conv{stride: 3, pad: 4, dilation: 5, transposed: 6, groups: 8}.formula(forward)
	if !ok || len(in.Dim(0)) == 0 {
		return Work{}, false
	}
	w := Work{Matrix: one.Matrix, Kind: OpProduct, Bytes: in.Bytes(0)}
	for i, asked := range masks(in.Value(10)) {
		switch {
		case asked && i < 2: // the gradient of the input, of the weight: reads one and writes the other
			w.FLOP, w.Bytes = w.FLOP+one.FLOP, w.Bytes+in.Bytes(1)+in.Bytes(2)
		case asked:
			w.FLOP += in.Elements(0)
		}
	}
	return w, true
}

// masks reads "[True, False, True]"; what is not there is not asked for.
func masks(text string) (out [3]bool) {
	for i, word := range strings.FieldsFunc(strings.ToLower(text), separates) {
		if i < len(out) {
			out[i] = word == pythonTrue || word == "1"
		}
	}
	return out
}
