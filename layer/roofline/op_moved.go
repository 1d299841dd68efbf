package roofline

import (
	"math"
)

// chosen counts products of routed experts, k of each token, that move so many bytes beside weights: the experts of one
// token are read at least, and at most as many as tokens can choose. one is how many elements an expert has, of size
// bytes each.
func chosen(tokens, k, all, one, size, moved float64, matrix string) (Work, bool) {
	w := Work{FLOP: 2 * tokens * k * one, Bytes: moved + k*one*size, Matrix: matrix, Kind: OpExperts}
	w.MostBytes = w.Bytes + (min(all, tokens*k)-k)*one*size
	return w, tokens > 0 && k > 0 && k <= all
}

// fusedExperts are mixtures of experts in one op: tokens (T,H), weights (E,2I,H) or (E,I,H) and (E,H,I), the choice
// (T,k). Where k is not recorded, a token has one at least and all at most.
func fusedExperts(x, up, down, choice, top int) formula {
	return func(in *Inputs) (Work, bool) {
		s, ok := in.fit("TH EWP EHI", x, up, down)
		k := 0.0
		if c := in.Dim(choice); len(c) == 2 && float64(c[0]) == s['T'] {
			k = float64(c[1])
		} else if v := in.Ints(top); len(v) == 1 {
			k = float64(v[0])
		}
		packing := s['H'] / s['P'] // values a stored element
		inner, size := s['I']*packing, in.Size(up)/packing
		if !ok || k < 0 || packing < 1 || s['W'] != inner && s['W'] != 2*inner || in.Size(x) == 0 || size == 0 {
			return Work{}, false
		}
		matrix := matrixType(slower(in.Type(x), in.Type(up)))
		if packing > 1 { // packed weights are computed in the type of the activations
			matrix = in.Type(x)
		}
		one := s['H'] * (s['W'] + inner)
		w, ok := chosen(s['T'], max(k, 1), s['E'], one, size, 2*s['T']*s['H']*in.Size(x), matrix)
		if k == 0 {
			w.MostBytes, w.MostFLOP = w.Bytes+(s['E']-1)*one*size, w.FLOP*s['E']
		}
		return w, ok
	}
}

// expertsStage is one of two products of routed experts: rows, weights, chosen experts a token and the result's rows.
func expertsStage(x, weight, out int, down bool) formula {
	return func(in *Inputs) (Work, bool) {
		a, b, o := in.Dim(x), in.Dim(weight), in.Dim(out)
		if len(o) == 0 {
			if len(b) == 0 {
				return routed(x, 1)(in)
			}
			return routed(x, weight)(in)
		}
		if len(b) != 3 || len(a) < 2 || len(o) < 2 || in.Size(x) == 0 || in.Size(weight) == 0 {
			return Work{}, false
		}
		var k, tokens float64
		switch {
		case down && len(a) == 3 && a[2] == b[2]:
			tokens, k = float64(a[0]), float64(a[1])
		case !down && len(o) >= 3 && a[1] == b[2]:
			tokens, k = float64(a[0]), float64(o[1])
		default:
			return Work{}, false
		}
		return chosen(tokens, k, float64(b[0]), float64(b[1])*float64(b[2]), in.Size(weight),
			in.Bytes(x)+product(o)*max(in.Size(out), in.Size(x)), matrixType(slower(in.Type(x), in.Type(weight))))
	}
}

// routed is a product of routed experts with only tokens (T,K) and weights (E,K,N) or (E,N,K) recorded: a
// token has one expert at least, and all tokens may have the same; the result may be kept in a smaller form.
func routed(x, weight int) formula {
	return func(in *Inputs) (Work, bool) {
		w, ok := grouped(in.arranged([]int{x, weight}))
		if !ok || w.Kind != OpExperts {
			return Work{}, false
		}
		one := float64(w.N) * float64(w.K) * in.Size(weight)
		experts := float64(in.Dim(weight)[0])
		w.Bytes = in.Bytes(x) + one
		w.MostFLOP, w.MostBytes = w.FLOP*experts, w.MostBytes+(experts-1)*one
		return w, true
	}
}

// summed adds up what the experts of a token gave: (T,k,H) to (T,H).
func summed(in *Inputs) (Work, bool) {
	s, ok := in.fit("TKH TH", 0, 1)
	w, known := moves(s['K']-1, 1, []int{0}, []int{1})(in)
	return w, ok && known
}

// invokedExperts is one product of Triton's fused MoE kernel: A (T,K) or (T·k,K), weights (E,N,K), choice (T,k).
func invokedExperts(in *Inputs) (Work, bool) {
	s, ok := in.fit("RK ENK TC", 0, 1, 8)
	moved := in.Bytes(0) + s['T']*s['C']*s['N']*max(in.Size(3), 2)
	w, known := chosen(s['T'], s['C'], s['E'], s['N']*s['K'], in.Size(1), moved,
		matrixType(slower(in.Type(0), in.Type(1))))
	return w, ok && known && in.Size(0) > 0 && in.Size(1) > 0
}

// moves reads some inputs, as far as they lie in memory, and writes some, with so many operations for each element of
// input of. Inputs that are absent are not moved.
func moves(flop float64, of int, read, written []int) formula {
	return func(in *Inputs) (Work, bool) {
		n := in.Elements(of)
		w := Work{FLOP: flop * n}
		for _, i := range read {
			w.Bytes += in.Bytes(i)
		}
		for _, i := range written {
			w.Bytes += in.Elements(i) * in.Size(i)
		}
		return w, n > 0 && in.Size(of) > 0 && (len(read) == 0 || in.Bytes(read[0]) > 0)
	}
}

// each reads input 0 and writes as much, with so many operations an element.
func each(flop float64) formula { return moves(flop, 0, []int{0}, []int{0}) }

// alike is a formula of ops that need so many elements of one input for each of another.
func alike(f formula, a, b int, times float64) formula {
	return func(in *Inputs) (Work, bool) {
		w, ok := f(in)
		return w, ok && in.Elements(a) == times*in.Elements(b)
	}
}

// elementwise broadcasts its tensors: each is read as far as it lies in memory, and the result is written. size is
// that of an element of the result, 0: of the promoted type.
func elementwise(flop, size float64, most int) formula {
	return func(in *Inputs) (Work, bool) {
		var of []int
		for _, i := range in.tensors() {
			if i < most && in.Size(i) > 0 {
				of = append(of, i)
			}
		}
		shape := in.broadcast(of)
		if len(of) == 0 || shape == nil {
			return Work{}, false
		}
		out := size
		if out == 0 {
			out = typeSizes[in.promoted(of)]
		}
		n := product(shape)
		w := Work{FLOP: flop * n, Bytes: n * out}
		for _, i := range of {
			w.Bytes += in.Bytes(i)
		}
		return w, n > 0
	}
}

// cast copies input 0 into another type, a value, or into its own.
func cast(in *Inputs) (Work, bool) {
	n, out := in.Elements(0), in.Size(0)
	if t := scalarTypes[in.Value(1)]; t != "" {
		out = typeSizes[t]
	}
	return Work{Bytes: in.Bytes(0) + n*out, Kind: OpCopy}, in.Size(0) > 0
}

// lists are ops on lists of tensors, whose types are recorded nowhere: each is read and written so many times. An
// element has as many bytes as the kernel's name says, one at least.
func lists(flop, moved float64) formula {
	return func(in *Inputs) (Work, bool) {
		n := 0.0
		if len(in.Lists) > 0 {
			for _, one := range in.Lists[0] {
				n += product(one)
			}
		}
		return Work{FLOP: flop * n, Bytes: moved * n * max(typeSizes[in.Assumed], float64(in.Element), 1)}, true
	}
}

// reduced sums, averages or picks over the dimensions that value dims names, all of them where it names none. extra
// is how many bytes an element of the result takes beside its value; wide says that sums of integers are of eight
// bytes.
func reduced(flop float64, dims int, extra float64, wide bool) formula {
	return func(in *Inputs) (Work, bool) {
		d := in.Dim(0)
		n := product(d)
		out := 1.0
		if v := in.Ints(dims); len(v) > 0 {
			over, ok := along(d, v)
			if !ok {
				return Work{}, false
			}
			out = n / over
		}
		size := in.Size(0)
		if t := in.Type(0); wide && (isInteger(t) || t == typeBool) {
			size = 8
		}
		return Work{FLOP: flop * n, Bytes: in.Bytes(0) + out*(size+extra)}, n > 0 && in.Size(0) > 0
	}
}

// norm normalises input x with weights: of each of the elements of a row one.
func norm(flop float64, x int, weights []int, stats float64) formula {
	return func(in *Inputs) (Work, bool) {
		d := in.Dim(x)
		n := product(d)
		if n == 0 || in.Size(x) == 0 {
			return Work{}, false
		}
		w := Work{FLOP: flop * n, Bytes: in.Bytes(x) + n*in.Size(x)}
		row := float64(d[len(d)-1])
		for _, i := range weights {
			if len(in.Dim(i)) > 0 {
				w.Bytes += in.Bytes(i)
				row = in.Elements(i)
			}
		}
		w.Bytes += stats * n / row
		return w, true
	}
}

// addNorm adds a residual and normalises: reads both, writes both.
func addNorm(x, residual, weight int) formula {
	return alike(moves(5, x, []int{x, residual, weight}, []int{x, residual}), x, residual, 1)
}

// batchNorm normalises channels: their statistics are read, and written in training, which input 5 says.
func batchNorm(in *Inputs) (Work, bool) {
	n := in.Elements(0)
	d := in.Dim(0)
	if len(d) < 2 || in.Size(0) == 0 {
		return Work{}, false
	}
	flop, stats := 2.0, 4.0
	if in.Flag(5) {
		flop, stats = 5, 6
	}
	return Work{FLOP: flop * n, Bytes: 2*n*in.Size(0) + 4*float64(d[1])*stats}, n > 0
}

// gated is an activation of one half times the other: out (…,I), in (…,2I).
func gated(flop float64) formula { return alike(moves(flop, 0, []int{1}, []int{0}), 1, 0, 2) }

// rotary turns queries and keys in place; before the table of angles is the size of a head.
func rotary(in *Inputs) (Work, bool) {
	const positions, q, k, head, table = 0, 1, 2, 3, 4
	n := in.Elements(q) + in.Elements(k)
	if in.Elements(q) == 0 || in.Size(q) == 0 {
		return Work{}, false
	}
	share := 1.0 // of a head that turns
	if h, t := in.Ints(head), in.Dim(table); len(h) == 1 && len(t) == 2 && t[1] <= h[0] {
		share = float64(t[1]) / float64(h[0])
	}
	return Work{FLOP: 3 * n * share, Bytes: 2*n*share*in.Size(q) + in.Bytes(positions)}, true
}

// cacheWrite stores keys and values of new tokens. The elements of a cache of unknown type take a byte at least, and as
// much as those that are written at most.
func cacheWrite(in *Inputs) (Work, bool) {
	const k, v, cache, slots = 0, 1, 2, 4
	n := in.Elements(k) + in.Elements(v)
	if n == 0 || in.Size(k) == 0 {
		return Work{}, false
	}
	read := n*in.Size(k) + in.Bytes(slots)
	if out := in.Size(cache); out > 0 {
		return Work{Bytes: read + n*out, Kind: OpCopy}, true
	}
	return Work{Bytes: read + n, MostBytes: read + n*in.Size(k), Kind: OpCopy}, true
}

// picked reads so many rows of a table of so many bytes each: one of them at least, all at most.
func picked(n, row float64) (Work, bool) {
	return Work{Bytes: 8*n + row + n*row, MostBytes: 8*n + 2*n*row, Kind: OpCopy}, n > 0 && row > 0
}

// lookup reads the rows of a table, input 0, that an index names.
func lookup(in *Inputs) (Work, bool) {
	t := in.Dim(0)
	if len(t) < 2 {
		return Work{}, false
	}
	return picked(in.Elements(1), product(t[1:])*in.Size(0))
}

// selected is aten::index_select: the slices of dimension value dim that an index names.
func selected(in *Inputs) (Work, bool) {
	d := in.Dim(0)
	n, ok := along(d, in.Ints(1))
	if !ok {
		return Work{}, false
	}
	return picked(in.Elements(2), product(d)/n*in.Size(0))
}

// along is the product of the sizes of some axes; false where one is none of d's.
func along(d, axes []int64) (float64, bool) {
	n := 1.0
	for _, axis := range axes {
		if axis < 0 {
			axis += int64(len(d))
		}
		if axis < 0 || axis >= int64(len(d)) || d[axis] == 0 {
			return 0, false
		}
		n *= float64(d[axis])
	}
	return n, len(axes) > 0
}

// gathered reads and writes an element for each index, input 2.
func gathered(in *Inputs) (Work, bool) {
	n := in.Elements(2)
	return Work{Bytes: in.Bytes(2) + n*in.Size(0), MostBytes: in.Bytes(2) + 2*n*in.Size(0), Kind: OpCopy},
		in.Size(0) > 0
}

// scattered writes the elements of src to the places of index, in place.
func scattered(index, src int, add float64) formula {
	return func(in *Inputs) (Work, bool) {
		n := in.Elements(src)
		if n == 0 {
			n = in.Elements(index)
		}
		e := in.Size(0)
		return Work{FLOP: add * n, Bytes: in.Bytes(index) + n*e*(2+add), Kind: OpCopy}, e > 0
	}
}

// masked is indexing by lists of tensors that are not recorded: of how much of input 0 is not known.
func masked(in *Inputs) (Work, bool) {
	n := in.Elements(0)
	return Work{Bytes: in.Size(0), MostBytes: 2 * n * in.Size(0), Kind: OpCopy}, n > 0 && in.Size(0) > 0
}

// put is aten::index_put_: values go to places that are not recorded.
func put(in *Inputs) (Work, bool) {
	n := in.Elements(2)
	return Work{Bytes: n*in.Size(2) + n*in.Size(0), Kind: OpCopy}, in.Size(2) > 0
}

// topK picks k of each row of dimension dim.
func topK(in *Inputs) (Work, bool) {
	d, k := in.Dim(0), in.Ints(1)
	if len(d) == 0 || len(k) != 1 || in.Size(0) == 0 {
		return Work{}, false
	}
	axis := int64(len(d) - 1)
	if v := in.Ints(2); len(v) == 1 && v[0] >= 0 && v[0] < int64(len(d)) {
		axis = v[0]
	}
	n := product(d)
	if n == 0 {
		return Work{}, false
	}
	out := n / float64(d[axis]) * float64(k[0])
	return Work{FLOP: n, Bytes: in.Bytes(0) + out*(in.Size(0)+8)}, true
}

// resized is an upsampling: the size of the result is a value, or its factors are.
func resized(flop float64, size, factors int) formula {
	return func(in *Inputs) (Work, bool) {
		d := in.Dim(0)
		if len(d) < 3 || in.Size(0) == 0 {
			return Work{}, false
		}
		out := product(d[:2])
		if v := in.Ints(size); len(v) == len(d)-2 {
			for _, n := range v {
				out *= float64(n)
			}
		} else if f := in.Floats(factors); len(f) == len(d)-2 {
			for i, x := range f {
				out *= math.Floor(float64(d[2+i]) * x)
			}
		} else {
			return Work{}, false
		}
		return Work{FLOP: flop * out, Bytes: in.Bytes(0) + out*in.Size(0)}, out > 0
	}
}

// pooled reduces windows: kernel, stride and padding are values.
func pooled(in *Inputs) (Work, bool) {
	d := in.Dim(0)
	k := in.Ints(1)
	if len(d) <= len(k) || len(k) == 0 || in.Size(0) == 0 {
		return Work{}, false
	}
	n := len(k)
	kernel := in.spatial(1, n, 1)
	stride, pad := in.spatial(2, n, 0), in.spatial(3, n, 0)
	out, taps := product(d[:len(d)-n]), 1.0
	for i := range n {
		if stride[i] == 0 {
			stride[i] = kernel[i]
		}
		room := d[len(d)-n+i] + 2*pad[i] - kernel[i]
		if kernel[i] <= 0 || stride[i] <= 0 || room < 0 {
			return Work{}, false
		}
		out *= float64(room/stride[i] + 1)
		taps *= float64(kernel[i])
	}
	return Work{FLOP: out * taps, Bytes: in.Bytes(0) + out*in.Size(0)}, true
}

// pooledTo reduces to a size that is a value.
func pooledTo(in *Inputs) (Work, bool) {
	d, v := in.Dim(0), in.Ints(1)
	if len(d) <= len(v) || len(v) == 0 || in.Size(0) == 0 {
		return Work{}, false
	}
	out := product(d[:len(d)-len(v)])
	for _, n := range v {
		out *= float64(n)
	}
	return Work{FLOP: product(d), Bytes: in.Bytes(0) + out*in.Size(0)}, product(d) > 0
}

// repeated writes an input so many times as value says.
func repeated(in *Inputs) (Work, bool) {
	n, times := in.Elements(0), 1.0
	for _, x := range in.Ints(1) {
		times *= float64(max(x, 0))
	}
	return Work{Bytes: in.Bytes(0) + n*times*in.Size(0), Kind: OpCopy}, times > 0 && in.Size(0) > 0
}

// quantised reads values and writes them in a smaller type, with scales.
func quantised(out, x, scales int, flop float64) formula {
	return func(in *Inputs) (Work, bool) {
		n := in.Elements(x)
		if n == 0 || in.Size(x) == 0 {
			return Work{}, false
		}
		size := 1.0
		if in.Size(out) > 0 && out != x {
			size = in.Elements(out) / n * in.Size(out)
		}
		return Work{FLOP: flop * n, Bytes: n*in.Size(x) + n*size + in.Bytes(scales), Kind: OpCopy}, true
	}
}

// shortConv is a causal convolution of a few taps a channel: (B,C,T) and (C,k).
func shortConv(in *Inputs) (Work, bool) {
	x, k := in.Dim(0), in.Dim(1)
	if len(x) < 2 || len(k) != 2 || in.Size(0) == 0 {
		return Work{}, false
	}
	n := product(x)
	return Work{FLOP: 2 * n * float64(k[1]), Bytes: 2*n*in.Size(0) + in.Bytes(1)}, n > 0
}

// fusedTriton is a kernel that a compiler made of several ops: what it must move at least is one element for each
// that it computes, at most all of its arguments.
func fusedTriton(in *Inputs) (Work, bool) {
	least, all := 0.0, 0.0
	for _, i := range in.tensors() {
		all += in.Bytes(i)
		if s := in.Size(i); s > 0 && (least == 0 || s < least) {
			least = s
		}
	}
	n := 0.0
	for i := range in.Values {
		if v := in.Ints(i); len(v) == 1 {
			n = max(n, float64(v[0]))
		}
	}
	w := Work{Bytes: min(n*least, all), MostBytes: all}
	return w, w.Bytes > 0
}
