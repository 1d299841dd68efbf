package compare

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
)

// TrendSchema names the document that a [Trend] is in JSON.
const TrendSchema = "strata.trend/1"

// TrendRun is one run of a trend.
type TrendRun struct {
	Date    string // when it was recorded
	Commit  string // of what program, "" unknown
	Run     Run
	Kernels map[string]string // by operator the kernel with most time, as far as known
}

// Trend is what changed over several runs of one program.
type Trend struct {
	Schema string `json:"schema"` // name and version of the document
	Runs   int    `json:"runs"`   // runs with passes
	From   string `json:"from"`   // date of the first
	To     string `json:"to"`     // date of the last
	// Changes are the change points, at most one of each stage and operator, the largest first.
	Changes []TrendChange `json:"changes"`
}

// TrendChange is from which run on an operator takes another time.
type TrendChange struct {
	Stage    layer.Stage `json:"stage"`            // stage of the passes
	Operator string      `json:"operator"`         // "" for all kernels together
	Since    string      `json:"since"`            // date of the first run that has the change
	Commit   string      `json:"commit,omitempty"` // of that run
	Before   int         `json:"runs_before"`      // runs without the change
	After    int         `json:"runs_after"`       // runs with it
	// Interval is the kernel time of a pass before and since, and the 95% interval of the difference.
	Interval
	Was  string `json:"was,omitempty"` // the operator's kernel with most time before, where that is another one since
	Now  string `json:"now,omitempty"` // and since
	Text string `json:"text"`          // the change in a sentence
	// Points are the runs in order, each with the mean kernel time of its complete passes inside a stage.
	Points []TrendPoint `json:"points"`

	p float64
}

// TrendPoint is what an operator takes in one run.
type TrendPoint struct {
	Date   string        `json:"date"`             // of the run
	Commit string        `json:"commit,omitempty"` // of the run
	Time   time.Duration `json:"ns"`               // 0 where it has no such pass, or none with the operator
}

// point is what an operator takes in the passes of these stages; operator "" is all kernels.
func (r *TrendRun) point(operator string, stages []layer.Stage) TrendPoint {
	p := TrendPoint{Date: r.Date, Commit: r.Commit}
	var sum, n time.Duration
	for i := range r.Run.Passes {
		pass := &r.Run.Passes[i]
		if pass.Partial != "" || pass.Lost > 0 || pass.First || !pass.Followed || !slices.Contains(stages, pass.Stage) {
			continue
		}
		n++
		for _, part := range pass.Parts {
			if operator == "" || r.Run.Parts[part.Part].Operator == operator {
				sum += part.Time
			}
		}
	}
	p.Time = sum / max(n, 1)
	return p
}

// NewTrend finds for each stage and operator the run from which on it differs most clearly from the runs before, by
// the rule of [Compare] with the runs before and since as sides. As each run may be the one, a change has to be as
// many times clearer as there are. Runs are put in the order of their dates. The error wraps [ErrNoMatch] for fewer
// than two runs with passes, and is ctx's where it is cancelled.
func NewTrend(ctx context.Context, runs []TrendRun) (*Trend, error) {
	runs = slices.DeleteFunc(slices.Clone(runs), func(r TrendRun) bool { return len(r.Run.Passes) == 0 })
	if len(runs) < 2 {
		return nil, fmt.Errorf("%w: a trend needs two runs", ErrNoMatch)
	}
	slices.SortStableFunc(runs, func(x, y TrendRun) int { return cmp.Compare(x.Date, y.Date) })
	t := &Trend{Schema: TrendSchema, Runs: len(runs), From: runs[0].Date, To: runs[len(runs)-1].Date,
		Changes: []TrendChange{}}
	var all []Run
	for i := range runs {
		all = append(all, runs[i].Run)
	}
	for _, s := range stages {
		best := map[string]TrendChange{}
		for k := 1; k < len(all); k++ {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			r := compareSlowest(&Side{Runs: all[:k]}, &Side{Runs: all[k:]},
				Options{Stages: s.passes, runs: len(all) > 2}) // one unit, so that p-values can be compared
			if r.Verdict == NotComparable || r.Doubtful(DoubtWork) {
				continue
			}
			for _, c := range r.changes(len(all) - 1) {
				c.Stage, c.Since, c.Commit, c.Before, c.After = s.stage, runs[k].Date, runs[k].Commit, k, len(all)-k
				if was, now := runs[k-1].Kernels[c.Operator], runs[k].Kernels[c.Operator]; was != now {
					c.Was, c.Now = was, now
				}
				if old, ok := best[c.Operator]; !ok || c.p < old.p || c.p == old.p && abs(c.Delta) > abs(old.Delta) {
					best[c.Operator] = c
				}
			}
		}
		for _, name := range sortedKeys(best) {
			c := best[name]
			c.Text = c.sentence()
			for i := range runs {
				c.Points = append(c.Points, runs[i].point(name, s.passes))
			}
			t.Changes = append(t.Changes, c)
		}
	}
	slices.SortStableFunc(t.Changes, func(x, y TrendChange) int { return cmp.Compare(abs(y.Delta), abs(x.Delta)) })
	return t, nil
}

// changes are the rows of a comparison that are findings, too, where so many comparisons are made.
func (r *Report) changes(comparisons int) []TrendChange {
	var out []TrendChange
	add := func(c TrendChange) {
		if c.p*float64(comparisons) <= alpha {
			out = append(out, c)
		}
	}
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Significant {
			add(TrendChange{Operator: row.Operator, Interval: Interval{row.KernelA, row.KernelB, row.kernelDelta(),
				row.Low, row.High}, p: row.p * float64(len(r.Rows))})
		}
	}
	if r.uniform {
		add(TrendChange{Interval: r.Work, p: r.shiftP})
	}
	return out
}

// sentence says what changed since when.
func (c *TrendChange) sentence() string {
	s := fmt.Sprintf("%s %s since %s (%s → %s a %s pass)", cmp.Or(c.Operator, "all kernels"), percentOf(c.Delta, c.A),
		c.Since, table.Duration(c.A), table.Duration(c.B), c.Stage)
	switch {
	case c.A == 0:
		s = fmt.Sprintf("%s is new since %s (%s a %s pass)", c.Operator, c.Since, table.Duration(c.B), c.Stage)
	case c.B == 0:
		s = fmt.Sprintf("%s is gone since %s (%s a %s pass before)", c.Operator, c.Since, table.Duration(c.A), c.Stage)
	}
	if c.Commit != "" {
		s = strings.Replace(s, c.Since, c.Since+", "+c.Commit, 1)
	}
	if c.Was != "" && c.Now != "" {
		b := briefsOf([]string{c.Was, c.Now})
		s += fmt.Sprintf(", kernel %s → %s", b.of(c.Was), b.of(c.Now))
	}
	return s
}

// WriteText writes the trend for people.
func (t *Trend) WriteText(w io.Writer) error {
	b := table.NewWriter(w)
	b.Heading(1, "%s from %s to %s: %s", table.Counted(t.Runs, "run", "runs"), t.From, t.To,
		table.Counted(len(t.Changes), "change point", "change points"))
	var lines []string
	for i := range t.Changes {
		lines = append(lines, t.Changes[i].Text)
	}
	(&page{b, textLimits, b.Markdown()}).section("Changes, largest first", lines, textLimits.list)
	return b.Flush()
}

// NewPass is a pass that spends these times on some parts of a run, whose kernels overlap: busy is shared among them,
// the rest of wall is idle. The run's Parts are names with a Class each; the last is the idle time.
func NewPass(p Pass, times []time.Duration, busy time.Duration) Pass {
	var sum float64
	for _, d := range times {
		sum += float64(d)
	}
	left := p.Wall
	for i, d := range times {
		if d > 0 {
			share := min(left, time.Duration(math.Floor(float64(d)*float64(min(busy, p.Wall))/sum)))
			p.Parts = append(p.Parts, PartTime{Part: i, Count: 1, Time: d, Exclusive: share})
			left -= share
		}
	}
	p.Parts = append(p.Parts, PartTime{Part: len(times), Exclusive: left})
	return p
}
