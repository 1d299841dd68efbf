package compare

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/internal/vocabulary"
	"github.com/llmstrata/strata/layer/finding"
)

// DoubtCode says in a word why a comparison may say nothing of the program.
type DoubtCode string

// The codes of doubts.
const (
	// DoubtServing: a window does not show what the server does, such as decode steps without the graphs that it
	// replays.
	DoubtServing DoubtCode = "serving"
	// DoubtClock: a GPU's clock changed during a run, or differs between the sides.
	DoubtClock DoubtCode = "clock"
	// DoubtModel: the passes of the sides have other numbers of layers, so that two models are compared, or one was
	// read wrongly.
	DoubtModel DoubtCode = "model"
	// DoubtBimodal: the runs of a side fall into two groups, so that a median is one or the other by chance.
	DoubtBimodal DoubtCode = "bimodal"
	// DoubtWork: the passes of the sides are of different sizes, or run other kernels and nothing shows that they do the
	// same.
	DoubtWork DoubtCode = "work"
	// DoubtOneRow: one activity makes much of a run's GPU time where its peers say that it should not.
	DoubtOneRow DoubtCode = "one-row"
	// DoubtLost: records of kernels are missing in the passes that are compared, and the run has no others.
	DoubtLost DoubtCode = "lost-records"
)

// A doubt is what is known of its code.
type doubt struct {
	code                   DoubtCode
	text, title, means, do string
}

// doubtTable has a row for each code.
var doubtTable = []doubt{
	{DoubtServing, "The window does not show what the server does", "Unexpected serving path",
		"A window does not run what the server is configured to run.",
		"Record a window of the path that serves requests."},
	{DoubtClock, "The GPU's clock changed", "Clock changed",
		"A GPU's clock changed during a run, or differs between the sides.",
		"Lock the clocks (nvidia-smi -lgc) and record again."},
	{DoubtModel, "The passes have different numbers of layers", "Different models",
		"The passes have different numbers of layers.",
		"Compare runs of one model, or pass `--a-config` and `--b-config`."},
	{DoubtBimodal, "The runs of a side are of two kinds", "Two kinds of runs",
		"The runs of a side fall into two groups. Their median is one of them by chance.",
		"Find what differs between the groups; record more runs."},
	{DoubtWork, "The passes may be of different sizes", "Different work",
		"The passes of the sides process different numbers of tokens or requests, or run other kernels and nothing " +
			"shows that they do the same.",
		"Pass `--normalize tokens` to compare time per token; record both sides with shapes or step annotations."},
	{DoubtOneRow, "One activity decides", "Depends on one row",
		"One activity makes up more than a tenth of a run's GPU time, and others of its name are short.",
		"Record that run again."},
	{DoubtLost, "Records of kernels are missing", "Lost records",
		"Records of kernels are missing in the passes that are compared, and the run has no others: GPU work and operators " +
			"seem to take less.",
		"Record that run again, with a shorter window or a larger buffer of the profiler."},
}

// DoubtCodes lists them.
func DoubtCodes() []DoubtCode {
	var out []DoubtCode
	for _, d := range doubtTable {
		out = append(out, d.code)
	}
	return out
}

// row is what is known of a code.
func (c DoubtCode) row() *doubt {
	return &doubtTable[slices.IndexFunc(doubtTable, func(d doubt) bool { return d.code == c })]
}

// UnmarshalText refuses words that are no code.
func (c *DoubtCode) UnmarshalText(text []byte) error {
	return vocabulary.Set(c, "doubt", text, DoubtCodes()...)
}

// Topics explains the codes of all doubts about a comparison.
func Topics() []finding.Topic {
	var out []finding.Topic
	for _, d := range doubtTable {
		out = append(out, finding.Topic{ID: string(d.code), Section: finding.SectionCompare, Title: d.title,
			Means:  d.means,
			Advice: finding.Advice{Do: d.do, Next: "strata compare --a OLD --b NEW"}, Page: "compare.md"})
	}
	return out
}

// Clock is what a GPU's processors ran at while it worked, in MHz.
type Clock struct {
	Min     float64 `json:"min"`     // lowest clock, MHz
	Median  float64 `json:"median"`  // median clock, MHz
	Max     float64 `json:"max"`     // highest clock, MHz
	Changed bool    `json:"changed"` // it varied by more than boost clocks under a steady load do
}

// doubts collects the reasons of both sides.
func (c *comparison) doubts(r *Report, of *pair, o *Options) {
	add := func(code DoubtCode, side, format string, args ...any) {
		f := r.newFinding(finding.Doubt, "", code.row().text, fmt.Sprintf(format, args...), 0)
		f.Code, f.Where, f.Size = string(code), side, finding.Size{}
		r.Doubts = append(r.Doubts, f)
		if slices.Contains(o.Allow, code) && !slices.Contains(r.Allowed, code) {
			r.Allowed = append(r.Allowed, code)
		}
	}
	for i, ch := range c.ch {
		name := string("AB"[i])
		for k := range ch.side.Runs {
			run := &ch.side.Runs[k]
			for _, text := range run.Serving {
				add(DoubtServing, name, "%s: %s", run.Trace, text)
			}
			if run.OneRow != "" {
				add(DoubtOneRow, name, "%s: %s", run.Trace, run.OneRow)
			}
			if run.Clock != nil && run.Clock.Changed {
				add(DoubtClock, name, "%s: the GPU's clock varied from %.0f to %.0f MHz while it worked", run.Trace,
					run.Clock.Min, run.Clock.Max)
			}
		}
	}
	for i, ch := range c.ch {
		records := 0
		for _, pass := range ch.all() {
			records += pass.Lost
		}
		if records > 0 {
			add(DoubtLost, string("AB"[i]), "about %s missing in the compared passes of %s",
				table.Counted(records, "record is", "records are"), table.Counted(ch.count(), "pass", "passes"))
		}
		if low, high, ok := bimodal(ch.runTimes()); ok {
			add(DoubtBimodal, string("AB"[i]), "the runs are of two kinds, with passes of about %s and of %s",
				table.Duration(time.Duration(low)), table.Duration(time.Duration(high)))
		}
	}
	work := [2]string{c.ch[0].id.passes(c.ch[0].count()), c.ch[1].id.passes(c.ch[1].count())}
	switch {
	case of.sizes && c.scale == 1:
		add(DoubtWork, "", "the passes are of different sizes: %s in A, %s in B; --normalize tokens compares time per token",
			work[0], work[1])
	case !c.equal && c.ch[0].id.shown() != c.ch[1].id.shown():
		add(DoubtWork, "", "only one side shows what its passes do, and they run other kernels: %s in A, %s in B", work[0],
			work[1])
	case !c.equal && c.ch[0].id.shown() == [2]bool{}:
		if a, b := c.ch[0].products(), c.ch[1].products(); min(a, b) < pooled*max(a, b) {
			add(DoubtWork, "", "nothing shows what the passes do, and they run other kernels: %s products a pass in A, %s in B",
				table.Fixed(a, 0), table.Fixed(b, 0))
		}
	}
	if a, b := c.ch[0].layers(), c.ch[1].layers(); otherLayers(a, b) {
		add(DoubtModel, "", "passes have %d layers in A and %d in B: two models, or one side's layers were read wrongly", a,
			b)
	}
	a, b := clockOf(c.ch[0].side), clockOf(c.ch[1].side)
	if c.sameGPU && min(a, b) > 0 && math.Abs(b-a) > clockShift*max(a, b) {
		add(DoubtClock, "", "the GPUs ran at %.0f and %.0f MHz (%+.1f%%)", a, b, 100*(b-a)/a)
	}
}

// runTimes are the median pass times of each run.
func (c *chosen) runTimes() []float64 {
	var out []float64
	for _, x := range c.walls() {
		if len(x) > 0 {
			out = append(out, median(x))
		}
	}
	return out
}

// bimodal says of the medians of runs whether they are of two kinds, and the middles of the kinds.
func bimodal(x []float64) (low, high float64, ok bool) {
	return parted(x, bimodalRuns, func(a, b float64) float64 { return max(a, b) })
}

// parted parts so many values or more at the largest step between them, if at least bimodalShare of them lie on either
// side and that step is larger than the groups are wide together, and than bimodalGap of the values themselves.
func parted(x []float64, fewest int, sum func(a, b float64) float64) (low, high float64, ok bool) {
	if len(x) < fewest {
		return
	}
	s := slices.Sorted(slices.Values(x))
	least := int(math.Ceil(bimodalShare * float64(len(s))))
	at, gap := least, 0.0
	for i := least; i <= len(s)-least; i++ {
		if d := s[i] - s[i-1]; d > gap {
			at, gap = i, d
		}
	}
	a, b := s[:at], s[at:]
	wide := sum(a[len(a)-1]-a[0], b[len(b)-1]-b[0])
	return median(a), median(b), gap > wide && gap > bimodalGap*median(s)
}

// clockOf is the typical clock of a side's runs, 0 where none is known.
func clockOf(s *Side) float64 {
	var x []float64
	for i := range s.Runs {
		if k := s.Runs[i].Clock; k != nil {
			x = append(x, k.Median)
		}
	}
	return median(x)
}

// Doubtful reports whether the comparison has a doubt that is not allowed.
func (r *Report) Doubtful(code DoubtCode) bool {
	return !slices.Contains(r.Allowed, code) && slices.ContainsFunc(r.Doubts,
		func(d finding.Finding) bool { return d.Code == string(code) })
}

// doubtful is the first reason that is not allowed, nil where there is none.
func (r *Report) doubtful() *finding.Finding {
	for i := range r.Doubts {
		if !slices.Contains(r.Allowed, DoubtCode(r.Doubts[i].Code)) {
			return &r.Doubts[i]
		}
	}
	return nil
}
