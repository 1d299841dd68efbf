package compare

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/internal/vocabulary"
)

// NOTE on the statistics.
//
// A row is an operator, or idle time, or what else a pass consists of; its values are totals of one pass in
// nanoseconds. What is asked is whether the two runs differ by more than two runs of the same program do. Two kinds
// of noise count: between passes of a run, which the values show, and between runs, which one run a side cannot show.
// The second is a stated floor, or what several runs a side show. Resampling passes or layers ignores it, and finds
// differences in nearly all pairs that have none.
//
// All variances are relative (of logarithms), except for waiting and idle time, which may be zero: those are shares
// of the pass.

// A Class of rows is how their times behave. Its rows share a shift: a lower clock slows arithmetic, not memory.
type Class string

// The classes.
const (
	Memory   Class = "memory"   // of kernels that move data or compute
	Latency  Class = "latency"  // of kernels as short as they get
	Transfer Class = "transfer" // between GPUs
	Waiting  Class = "waiting"  // for other ranks, or for the host: idle time
	OfHost   Class = "host"     // of operations of the CPU
)

// classes in the order in which one of equal time counts.
var classes = []Class{Memory, Latency, Transfer, Waiting, OfHost}

// UnmarshalText refuses words that are no class.
func (c *Class) UnmarshalText(text []byte) error { return vocabulary.Set(c, "class", text, classes...) }

// A series is one row on both sides.
type series struct {
	class   Class
	a, b    []float64 // totals of passes, or of runs where both sides have several
	single  bool      // one launch in a pass
	layers  []float64 // log ratios of its layers where a side has one pass
	other   bool      // the sides spend most of it in kernels of different names
	inertia inertia   // of steps of the host
	// between runs, and how well it is known, where the row has its own; 0: that of its class
	floor, floorDF float64
}

// put adds values of a side.
func (s *series) put(side int, values []float64) {
	if side == 0 {
		s.a = append(s.a, values...)
	} else {
		s.b = append(s.b, values...)
	}
}

// A ruler is what the differences of a pair are held against.
type ruler struct {
	pass      float64 // mean total of a pass
	runs      bool    // the run is the unit, not the pass
	effective float64 // how many independent passes one pass counts for
	floorDF   float64 // how well the floor is known, in degrees of freedom
}

// rulerOf is the usual ruler.
func rulerOf(pass float64, runs bool) ruler { return ruler{pass, runs, effective, floorDF} }

// A result is what can be said about a series.
type result struct {
	delta   float64 // mean of b − mean of a
	typical float64 // difference of the locations, which the test uses
	p       float64 // that the two do not differ; 1 where nothing may be said
	judged  bool
	enough  bool    // there are as many values as the class needs
	se, df  float64 // standard error of typical in nanoseconds, and its degrees of freedom
	mean    float64 // standard error of delta, where outliers make it a larger one
}

// half is half of the width of the 95% interval around delta.
func (r result) half() float64 { return quantile(r.df, 0.975) * max(r.se, r.mean) }

// around is the 95% interval around a difference.
func (r result) around(d time.Duration) (low, high time.Duration) {
	half := time.Duration(r.half())
	return d - half, d + half
}

// seen is the smallest change that would have been found in 95 of 100 pairs among so many rows.
func (r result) seen(rows int) float64 {
	return (quantile(r.df, 1-alpha/2/float64(rows)) + quantile(r.df, 0.95)) * r.se
}

func quantile(df, q float64) float64 {
	if df <= 0 {
		return 0
	}
	return stat.StudentQuantile(q, df)
}

// judge tests one series. shift is the logarithm of the common shift of its class, floor the relative standard
// deviation between runs.
func (k ruler) judge(s series, shift, floor float64) result {
	floor = cmp.Or(s.floor, floor)
	r := result{delta: stat.Mean(s.b) - stat.Mean(s.a), p: 1}
	na, nb := float64(len(s.a)), float64(len(s.b))
	if na == 0 || nb == 0 || k.pass <= 0 {
		return r
	}
	absolute := s.class == Waiting
	reference := (stat.Mean(s.a) + stat.Mean(s.b)) / 2
	if absolute {
		reference = k.pass
	}
	if reference <= 0 {
		return r
	}
	v, df := k.variance(s, floor)
	la, lb := k.typical(s)
	distance := (lb - la) / k.pass
	if !absolute && la > 0 && lb > 0 {
		distance = math.Log(lb / la)
	}
	se := math.Sqrt(v)
	if s.alsoThere() {
		se = max(se, math.Abs(distance))
	}
	r.typical, r.se, r.df = lb-la, se*reference, df
	if s.class == OfHost && !k.runs { // one step that jumps moves the mean, which is shown, and not the typical step
		r.mean = math.Sqrt(r.se*r.se + jumps(s.a) + jumps(s.b))
	}
	switch {
	case absolute && (len(s.a) < waitPasses || len(s.b) < waitPasses) && !k.runs:
		return r
	case s.class == OfHost && (len(s.a) < hostSteps || len(s.b) < hostSteps) && !k.runs:
		return r
	case s.class == Transfer && (len(s.a) < 2 || len(s.b) < 2):
		return r // one pass cannot separate transfer from waiting
	}
	r.enough, r.judged = true, true
	if !absolute {
		if la <= 0 || lb <= 0 {
			// new or removed: that is no question of noise; of the host, too rare to have a typical time
			r.judged = s.class != OfHost
			return r
		}
		distance -= shift
	}
	r.p = twoSided(distance/se, df)
	return r
}

// alsoThere reports whether a side has one value, and the other has values on both sides of it: drawn in as outliers,
// they would not show how far values of one program lie apart.
func (s *series) alsoThere() bool {
	one, many := s.a, s.b
	if len(one) != 1 {
		one, many = many, one
	}
	return len(one) == 1 && len(many) > 1 && slices.Min(many) <= one[0] && one[0] <= slices.Max(many)
}

// judgeWall tests the step: what works varies as a share of itself, what waits as a share of the pass, and runs
// differ as one. Waiting of too few passes is not judged, unless there is none.
func (k ruler) judgeWall(work, waits series, floor float64) result {
	wall := series{class: Memory, a: add(slices.Clone(waits.a), work.a), b: add(slices.Clone(waits.b), work.b)}
	if k.runs || stat.Mean(waits.a)+stat.Mean(waits.b) == 0 {
		return k.judge(wall, 0, floor)
	}
	r := result{delta: stat.Mean(wall.b) - stat.Mean(wall.a), p: 1}
	na, nb := len(wall.a), len(wall.b)
	if na == 0 || nb == 0 || k.pass <= 0 {
		return r
	}
	const exact = 0 // of runs, as the floor of the step follows
	vWork, df := k.variance(work, exact)
	vWait, _ := k.variance(waits, exact)
	ref := (stat.Mean(work.a) + stat.Mean(work.b)) / 2 / k.pass
	vWork *= ref * ref
	between := 2 * floor * floor
	v := vWork + vWait + between
	r.typical = k.location(wall.b) - k.location(wall.a)
	r.se = math.Sqrt(v) * k.pass
	r.df = v * v / ((vWork*vWork+vWait*vWait)/df + between*between/k.floorDF)
	if min(na, nb) < waitPasses {
		return r
	}
	r.enough, r.judged = true, true
	r.p = twoSided(r.typical/r.se, r.df)
	return r
}

// variance of the difference of the two locations, and its degrees of freedom (Satterthwaite).
func (k ruler) variance(s series, floor float64) (v, df float64) {
	na, nb := float64(len(s.a)), float64(len(s.b))
	own, free := spread(s, k.pass), na+nb-2
	if k.runs {
		v = (priorDF*floor*floor + free*own) / (priorDF + free) * (1/na + 1/nb)
		return v, priorDF + free
	}
	var within float64
	if s.class == OfHost {
		within, free = s.ofSteps()
	} else {
		prior := k.prior(s)
		cost := func(n float64) float64 {
			e := max(1, k.effective*n)
			if n >= 3 {
				return medianCost / e
			}
			return 1 / e
		}
		free += priorDF
		within = (priorDF*prior*prior + (free-priorDF)*own) / free * (cost(na) + cost(nb))
	}
	between := 2 * floor * floor
	v = within + between
	return v, v * v / (within*within/free + between*between/cmp.Or(s.floorDF, k.floorDF))
}

// prior is the standard deviation that is expected of a row's passes before any is seen.
func (k ruler) prior(s series) float64 {
	prior := priorSD
	switch s.class {
	case Waiting:
		prior = waitPriorSD
	case Transfer:
		prior *= collectivePrior
	}
	switch {
	case len(s.a) > 1 && len(s.b) > 1:
	case len(s.layers) > 1:
		prior = max(prior, layerSE*standardError(s.layers))
	case s.single:
		prior = max(prior, singleSD)
	}
	return prior
}

// spread is the pooled variance of the values of both sides, relative to their medians (to the pass for waiting),
// outliers drawn in.
func spread(s series, pass float64) float64 {
	var sum, free float64
	for _, x := range [][]float64{s.a, s.b} {
		scale := median(x)
		if s.class == Waiting {
			scale = pass
		}
		if scale <= 0 {
			continue
		}
		w := winsorised(x)
		m := stat.Mean(w)
		for _, v := range w {
			d := (v - m) / scale
			sum += d * d
		}
		free += float64(len(x) - 1)
	}
	if free == 0 {
		return 0
	}
	return sum / free
}

// winsorised draws values in that lie further from the median than WinsorMAD median absolute deviations.
func winsorised(x []float64) []float64 {
	m := median(x)
	d := make([]float64, len(x))
	for i, v := range x {
		d[i] = math.Abs(v - m)
	}
	const normal = 1.4826 // median absolute deviation of a normal distribution of standard deviation 1, inverted
	far := winsorMAD * normal * median(d)
	if far == 0 {
		return x
	}
	out := make([]float64, len(x))
	for i, v := range x {
		out[i] = min(max(v, m-far), m+far)
	}
	return out
}

// typical are the locations of both sides.
func (k ruler) typical(s series) (a, b float64) {
	if s.class == OfHost && !k.runs {
		return typicalStep(s.a), typicalStep(s.b)
	}
	return k.location(s.a), k.location(s.b)
}

// location is the typical pass: the median where there are three, as single passes jump.
func (k ruler) location(x []float64) float64 {
	if len(x) >= 3 && !k.runs {
		return median(x)
	}
	return stat.Mean(x)
}

// shift is the common shift of rows of one class as a logarithm: the median of their log ratios, weighted by share of
// the pass but not more than ShareCap. Rows that run other kernels, or more, do not count, as their times differ by
// more than a clock. It is 0 if too few rows count, or less than half of the time.
func (k ruler) shift(rows []series, of func(Class) bool) float64 {
	var logs, weights []float64
	var same, all float64
	for _, s := range rows {
		la, lb := k.typical(s)
		if s.class == Waiting || !of(s.class) || la <= 0 || lb <= 0 {
			continue
		}
		mean := (la + lb) / 2
		all += mean
		if s.other {
			continue
		}
		same += mean
		logs, weights = append(logs, math.Log(lb/la)), append(weights, min(mean/k.pass, shareCap))
	}
	if len(logs) < shiftRows || 2*same < all {
		return 0
	}
	return weightedMedian(logs, weights)
}

// weightedMedian is the value below which half of the weight lies; 0 for none.
func weightedMedian(values, weights []float64) float64 {
	type weighed struct{ log, weight float64 }
	w := make([]weighed, len(values))
	var sum float64
	for i := range values {
		w[i] = weighed{values[i], weights[i]}
		sum += weights[i]
	}
	slices.SortFunc(w, func(x, y weighed) int { return cmp.Compare(x.log, y.log) })
	var at float64
	for i, x := range w {
		at += x.weight
		const equal = 1e-9 // as far as sums of shares are exact
		if i+1 < len(w) && math.Abs(at-sum/2) <= equal*sum {
			return (x.log + w[i+1].log) / 2
		}
		if at >= sum/2 {
			return x.log
		}
	}
	return 0
}

// shiftTest tests whether all kernels together became slower or faster.
func (k ruler) shiftTest(shift, floor float64, na, nb int) float64 {
	v, df := 2*floor*floor, k.floorDF
	if k.runs {
		v, df = floor*floor*(1/float64(na)+1/float64(nb)), priorDF+float64(na+nb-2)
	}
	se := math.Sqrt(v + shiftSE*shiftSE)
	return twoSided(shift/se, df)
}

// twoSided is the chance of a deviation as large as z in either direction.
func twoSided(z, df float64) float64 {
	return 2 * stat.StudentCDF(-math.Abs(z), df)
}

// holm marks which of the p-values are findings so that the chance of any false one is at most alpha.
func holm(ps []float64, alpha float64) []bool {
	order := make([]int, len(ps))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ps[i], ps[j]) })
	found := make([]bool, len(ps))
	for k, i := range order {
		if ps[i] > alpha/float64(len(ps)-k) {
			break
		}
		found[i] = true
	}
	return found
}

func median(x []float64) float64 {
	if len(x) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(x))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}

func standardError(x []float64) float64 {
	m := stat.Mean(x)
	var sum float64
	for _, v := range x {
		sum += (v - m) * (v - m)
	}
	n := float64(len(x))
	return math.Sqrt(sum / (n - 1) / n)
}

// deviation is the standard deviation of a sample.
func deviation(x []float64) float64 {
	return standardError(x) * math.Sqrt(float64(len(x)))
}
