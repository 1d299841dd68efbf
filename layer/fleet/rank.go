package fleet

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/mask"
	"github.com/llmstrata/strata/internal/stat"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// RankSchema names the document that a [Rank] is in JSON: one line of NDJSON.
const RankSchema = "strata.rank/1"

// Rank is the digest of one GPU of one recording. Times are nanoseconds.
type Rank struct {
	Schema string `json:"schema"` // [RankSchema]
	// Run names the recording: files of one start of the profiler have the same one. Part is the stage that the
	// name of the file says, "" for none: its files are aligned with files of the same part only.
	Run  string `json:"run"`
	Part string `json:"part,omitempty"`
	// Rank is what the trace says, NameRank what the name of its file says; −1 unknown.
	Rank     int `json:"rank"`
	NameRank int `json:"name_rank"`
	// Device is the GPU's index in the trace, World the number of ranks of the job, 0 unknown.
	Device int    `json:"device"`
	World  int    `json:"world_size,omitempty"`
	Host   string `json:"host,omitempty"`
	// File is the trace without its folder. Bad is why it could not be read, "" where it could; nothing else is
	// known then.
	File string `json:"file"`
	Bad  string `json:"bad,omitempty"`
	// Fingerprint is the same in copies of a recording, and in nothing else.
	Fingerprint string             `json:"fingerprint,omitempty"`
	GPU         string             `json:"gpu,omitempty"`
	Model       string             `json:"model,omitempty"`
	Framework   string             `json:"framework,omitempty"`
	Health      trace.HealthStatus `json:"health,omitempty"`
	// Commit and Date say what ran and when, as the user named them.
	Commit string `json:"commit,omitempty"`
	Date   string `json:"date,omitempty"`
	// Clock is the Unix time that Step.Start counts from, 0 unknown.
	Clock int64 `json:"clock_ns,omitempty"`
	// Groups are the process groups that the trace names, Calls the distinct collectives, Kernels those with most
	// time, Names what most of the idle time of a cause is in.
	Groups  []ProcessGroup `json:"groups,omitempty"`
	Calls   []Call         `json:"calls,omitempty"`
	Kernels []Named        `json:"kernels,omitempty"`
	Names   []IdleName     `json:"idle_names,omitempty"`
	Steps   []Step         `json:"steps,omitempty"`
	// Findings are those of the rank by itself, ranked, the first of them.
	Findings []finding.Finding `json:"findings,omitempty"`
}

// ProcessGroup is a set of ranks that exchange data. Ranks is empty where the trace only names it.
type ProcessGroup struct {
	Name  string `json:"name"`            // as the framework calls it
	Ranks []int  `json:"ranks,omitempty"` // its members, where the trace lists them
}

// Call is one kind of collective.
type Call struct {
	Kind classify.Collective `json:"kind"` // what is exchanged
	// Group indexes Rank.Groups, −1 where the trace does not say. Bytes is 0 where it is unknown.
	Group  int    `json:"group"`
	Bytes  int64  `json:"bytes,omitempty"`
	Kernel string `json:"kernel,omitempty"`
}

// Named is time under a name.
type Named struct {
	Name string `json:"name"` // of a kernel or operator
	NS   int64  `json:"ns"`   // of GPU time
	// Operator is that of a kernel; "" of an operator, and where it is not known.
	Operator string `json:"operator,omitempty"`
}

// IdleName is what the host did during most of the idle time of a cause.
type IdleName struct {
	Cause finding.Cause `json:"cause"` // why the GPU is idle
	Name  string        `json:"name"`  // the host operation in which most of that time is
	NS    int64         `json:"ns"`    // idle time in it
}

// CauseTime is idle time of one cause.
type CauseTime struct {
	Cause finding.Cause `json:"cause"` // why the GPU is idle
	NS    int64         `json:"ns"`    // idle time for it
}

// Step is one forward pass of a rank.
type Step struct {
	// Number is the server's, −1 unknown. Tokens and Requests are −1 where they are unknown.
	Number   int64         `json:"number"`
	Stage    finding.Stage `json:"stage"`
	Tokens   int64         `json:"tokens"`
	Requests int64         `json:"requests"`
	Partial  bool          `json:"partial,omitempty"` // the window cuts it, or records are missing
	// Start is since Rank.Clock. Wall is the time to the start of the next step, Busy the part in which a kernel
	// runs.
	Start int64 `json:"start_ns"`
	Wall  int64 `json:"wall_ns"`
	Busy  int64 `json:"busy_ns"`
	// Idle adds up to Wall − Busy where the causes are known and no records are missing. Operators are the times of all
	// kernels but collectives.
	Idle      []CauseTime `json:"idle,omitempty"`
	Operators []Named     `json:"operators,omitempty"`
	// Call, At and Took are the collectives in the order in which they ran: index in Rank.Calls, start since
	// Step.Start, duration.
	Call []int   `json:"call,omitempty"`
	At   []int64 `json:"at_ns,omitempty"`
	Took []int64 `json:"took_ns,omitempty"`
}

// ErrDigest is wrapped where a digest cannot be read.
var ErrDigest = errors.New("not a digest of a rank")

// Bounds of a digest: of who reads digests of others.
const (
	maxLine = 64 << 20
	// maxTime is the longest time, twelve days: sums over all that a digest can hold do not overflow.
	maxTime = 1 << 50
)

// check refuses a digest whose parts do not fit together.
func (r *Rank) check() error {
	if r.Schema != RankSchema {
		return fmt.Errorf("its schema is %q, want %q", r.Schema, RankSchema)
	}
	for _, c := range r.Calls {
		if c.Group < -1 || c.Group >= len(r.Groups) {
			return fmt.Errorf("a collective is of group %d of %d", c.Group, len(r.Groups))
		}
	}
	bad := func(ns int64) bool { return ns < 0 || ns > maxTime }
	for i := range r.Steps {
		s := &r.Steps[i]
		if len(s.Call) != len(s.At) || len(s.Call) != len(s.Took) {
			return fmt.Errorf("step %d has %d collectives, %d starts and %d times", i, len(s.Call), len(s.At),
				len(s.Took))
		}
		if bad(s.Wall) || bad(s.Busy) || bad(s.Start+maxTime/2) ||
			slices.ContainsFunc(s.Operators, func(o Named) bool { return bad(o.NS) }) ||
			slices.ContainsFunc(s.Idle, func(c CauseTime) bool { return bad(c.NS) }) {
			return fmt.Errorf("step %d has a time out of range", i)
		}
		for k, c := range s.Call {
			if c < 0 || c >= len(r.Calls) || bad(s.Took[k]) || bad(s.At[k]+maxTime/2) {
				return fmt.Errorf("collective %d of step %d is out of range", k, i)
			}
		}
	}
	return nil
}

// Write writes a digest as one line.
func (r *Rank) Write(w io.Writer) error {
	out := *r
	out.Schema = RankSchema
	m := mask.NewWriter(w) // digests are kept beside other people's work
	if err := json.NewEncoder(m).Encode(&out); err != nil {
		return err
	}
	return m.Flush()
}

// Read calls take for each digest of an NDJSON stream. The error wraps [ErrDigest] where a line is none; take's errors
// are returned as they are.
func Read(r io.Reader, take func(Rank) error) error {
	d := json.NewDecoder(&lineLimit{r: r})
	for n := 1; ; n++ {
		var one Rank
		err := d.Decode(&one)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = one.check()
		}
		if err != nil {
			return fmt.Errorf("line %d: %w: %w", n, ErrDigest, err)
		}
		if err := take(one); err != nil {
			return err
		}
	}
}

// lineLimit ends a stream whose line is longer than a digest can be.
type lineLimit struct {
	r    io.Reader
	line int
}

func (l *lineLimit) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	for _, c := range p[:n] {
		if l.line++; c == '\n' {
			l.line = 0
		}
	}
	if l.line > maxLine {
		return 0, fmt.Errorf("a line of more than %d bytes", maxLine)
	}
	return n, err
}

// Set holds digests, each once. The zero Set is empty.
type Set struct{ ranks map[string]Rank }

// Add takes digests in. Of two of the same file of a recording the later one counts by its bytes, not by the order of
// the calls.
func (s *Set) Add(ranks ...Rank) {
	if s.ranks == nil {
		s.ranks = map[string]Rank{}
	}
	for _, r := range ranks {
		key := r.Run + "\x00" + r.Part + "\x00" + r.File + "\x00" + strconv.Itoa(r.Device)
		if old, ok := s.ranks[key]; !ok || compareRanks(&old, &r) < 0 {
			s.ranks[key] = r
		}
	}
}

// compareRanks orders two digests of one file: one that could be read counts more than one that could not.
func compareRanks(a, b *Rank) int {
	text := func(r *Rank) string { t, _ := json.Marshal(r); return string(t) } // of plain data: no error
	return cmp.Or(cmp.Compare(stat.Int(a.Bad == ""), stat.Int(b.Bad == "")), cmp.Compare(text(a), text(b)))
}

// Ranks returns the digests by run, part, rank and file.
func (s *Set) Ranks() []Rank {
	out := make([]Rank, 0, len(s.ranks))
	for _, r := range s.ranks {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Rank) int {
		return cmp.Or(cmp.Compare(a.Run, b.Run), cmp.Compare(a.Part, b.Part), cmp.Compare(a.Rank, b.Rank),
			cmp.Compare(a.NameRank, b.NameRank), cmp.Compare(a.Device, b.Device), cmp.Compare(a.File, b.File))
	})
	return out
}
