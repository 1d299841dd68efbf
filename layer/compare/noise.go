package compare

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/goccy/go-json"

	"github.com/llmstrata/strata/internal/stat"
)

// noiseSchema is the schema of a [Noise] as JSON.
const noiseSchema = "strata.noise/1"

// leastRuns is how many repeated runs noise is learned from: the standard deviation of five is known to a third.
const leastRuns = 5

// Noise is how much runs of one program differ, learned from repeated ones. All values are relative standard
// deviations.
type Noise struct {
	Schema string `json:"schema"` // name and version of the document
	Runs   int    `json:"runs"`   // recordings that it was learned from
	Date   string `json:"date"`   // of the newest run; "" unknown
	GPU    string `json:"gpu"`    // the device's name, "" unknown
	Stage  string `json:"stage"`  // stage of the passes
	// Common is that of all GPU work together, Classes that of a row beside the common shift, by the row's class.
	Common  float64           `json:"common"`
	Classes map[Class]float64 `json:"classes"`
}

// errNoise is wrapped where noise cannot be learned or read.
var errNoise = errors.New("no noise of repeated runs")

// floors are the standard deviations between two runs: of all work together, and of the rows of each class, where
// that is another one.
type floors struct {
	common float64
	class  map[Class]float64
}

func (f *floors) of(c Class) float64 {
	if sd, ok := f.class[c]; ok {
		return sd
	}
	return f.common
}

// floors are those that were learned; an unknown class has the common one.
func (n *Noise) floors() floors {
	f := floors{common: max(n.Common, floorLeast), class: map[Class]float64{}}
	for c, sd := range n.Classes {
		f.class[c] = max(sd, floorLeast)
	}
	return f
}

// from says where the noise is from.
func (n *Noise) from() string {
	s := fmt.Sprintf("learned from %d runs", n.Runs)
	if n.Date != "" {
		s += ", " + n.Date
	}
	return s
}

// LearnNoise measures how much the runs of a side differ, which must be of one program. It needs five. Its JSON form
// is kept for [ReadNoise].
func LearnNoise(ctx context.Context, s *Side, o Options) (*Noise, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if len(s.Runs) < leastRuns {
		return nil, fmt.Errorf("%w: %d runs of one program, want at least %d", errNoise, len(s.Runs), leastRuns)
	}
	sides := [2]*Side{s, s}
	m := match(sides, &o)
	if m.why != "" {
		return nil, fmt.Errorf("%w: %s", errNoise, m.why)
	}
	ca, cb := m.pairs[0].a.of(sides, 0), m.pairs[0].b.of(sides, 1)
	ca.dropFirst()
	cb.dropFirst()
	for r := range s.Runs {
		if len(ca.passes[r]) == 0 {
			return nil, fmt.Errorf("%w: %s has no passes like the others' (%s)", errNoise, s.Runs[r].Trace, ca.id)
		}
		if s.Runs[r].GPU != s.Runs[0].GPU {
			return nil, fmt.Errorf("%w: the runs are of %q and %q", errNoise, s.Runs[0].GPU, s.Runs[r].GPU)
		}
	}
	c := &comparison{ruler: rulerOf(0, true), ch: [2]*chosen{ca, cb}, scale: 1, noise: floors{common: floorSameGPU}}
	c.collect()
	n := &Noise{Schema: noiseSchema, Runs: len(s.Runs), GPU: s.Runs[0].GPU, Stage: string(ca.id.stage),
		Classes: map[Class]float64{}}
	c.learn(n)
	return n, ctx.Err()
}

// learn finds the common shift of each run and what the rows differ by beside it.
func (c *comparison) learn(n *Noise) {
	runs := len(c.ch[0].side.Runs)
	shifts := make([]float64, runs)
	logs := make([][]float64, len(c.series)) // of the rows: log ratio of each run to the typical one
	for i := range c.series {
		logs[i] = logsOf(c.series[i].a, c.pass, c.series[i].class)
	}
	for r := range runs {
		var x, weight []float64
		for i := range c.series {
			if logs[i] != nil {
				x, weight = append(x, logs[i][r]), append(weight, min(stat.Mean(c.series[i].a)/c.pass, shareCap))
			}
		}
		shifts[r] = weightedMedian(x, weight)
	}
	n.Common = deviation(shifts)
	sums, counts := map[Class]float64{}, map[Class]float64{}
	for i := range c.series {
		if logs[i] == nil {
			continue
		}
		rest := make([]float64, runs)
		for r := range runs {
			rest[r] = logs[i][r] - shifts[r]
		}
		d := deviation(winsorised(rest))
		sums[c.series[i].class] += d * d
		counts[c.series[i].class]++
	}
	for k, sum := range sums {
		n.Classes[k] = math.Sqrt(sum / counts[k])
	}
}

// logsOf are the logarithms of a row's runs to their median; nil for waiting, and for a row too small to be a finding.
func logsOf(values []float64, pass float64, c Class) []float64 {
	m := median(values)
	if c == Waiting || slices.Min(values) <= 0 || m < minShare*pass {
		return nil
	}
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = math.Log(v / m)
	}
	return out
}

// deviation is the standard deviation of a sample.
func deviation(x []float64) float64 {
	return standardError(x) * math.Sqrt(float64(len(x)))
}

// ReadNoise reads a Noise from its JSON form.
func ReadNoise(r io.Reader) (*Noise, error) {
	const most = 1 << 20 // a noise file has a few hundred bytes
	data, err := io.ReadAll(io.LimitReader(r, most))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoise, err)
	}
	var n Noise
	if err := json.Unmarshal(data, &n); err != nil {
		return nil, fmt.Errorf("%w: %w", errNoise, err)
	}
	if n.Schema != noiseSchema {
		return nil, fmt.Errorf("%w: its schema is %q, want %q", errNoise, n.Schema, noiseSchema)
	}
	values := []float64{n.Common}
	for _, sd := range n.Classes {
		values = append(values, sd)
	}
	for _, sd := range values {
		if !(sd >= 0 && sd < 1) {
			return nil, fmt.Errorf("%w: a relative standard deviation of %v", errNoise, sd)
		}
	}
	return &n, nil
}
