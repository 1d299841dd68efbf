package capture

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/internal/table"
)

// Diagnosis is what [Diagnose] has found out.
type Diagnosis struct {
	// Schema is "strata.capture-doctor/2".
	Schema string `json:"schema"`
	// Server is its address, Framework what it is, Evidence how that is known.
	Server    string     `json:"server"`
	Framework Framework  `json:"framework"`
	Evidence  string     `json:"evidence"`
	Info      ServerInfo `json:"server_info"`
	// Profiler says whether the server has the profiler's routes: yes, no or unknown.
	Profiler string `json:"profiler"`
	// Contract is the row of the table that a capture would obey.
	Contract Contract `json:"contract"`
	// Workers are the engines that would be profiled where they are not Server alone.
	Workers []Worker `json:"workers,omitempty"`
	// Findings are sentences on what this server can and cannot do.
	Findings []string `json:"findings"`
	// Formal is the launch line for traces whose times count, Mapping for those that lead back to source: stacks,
	// shapes, module frames. Nsys is the one for a window of Nsight Systems.
	Formal  string `json:"formal_launch"`
	Mapping string `json:"mapping_launch"`
	Nsys    string `json:"nsys_launch"`
}

// Diagnose asks a server, by requests without effects, what it is and whether it can be profiled, and says how to
// launch it. OutputDir, if set, is the folder that the launch lines name. Stages and steps are those of the options.
func Diagnose(ctx context.Context, o Options) (*Diagnosis, error) {
	dir := cmp.Or(o.OutputDir, "DIR")
	if abs, err := filepath.Abs(dir); err == nil && o.OutputDir != "" {
		dir = abs
	}
	o.OutputDir = cmp.Or(o.OutputDir, ".") // nothing is written
	r, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	defer r.close()
	t := r.d.targets[0]
	d := &Diagnosis{
		Schema: "strata.capture-doctor/2", Server: r.res.Server, Framework: r.res.Framework, Evidence: t.evidence,
		Info: t.info, Contract: *t.con, Workers: r.res.Workers,
		Profiler: map[Outcome]string{Pass: "yes", Fail: "no", Unknown: "unknown"}[t.listed.starts()],
		Findings: append([]string{}, r.res.Notes...),
	}
	add := func(format string, args ...any) { d.Findings = append(d.Findings, fmt.Sprintf(format, args...)) }
	if err := r.d.check(&r.o); err != nil {
		add("%s", strings.TrimPrefix(err.Error(), "capture: "))
	}
	if n := len(t.info.expected); n > 0 {
		add("%s expected", table.Counted(n, "trace per window is", "traces per window are"))
	} else {
		add("it does not say how many ranks it has: the traces' world_size does, or --ranks")
	}
	if n := d.Info.ChunkedPrefill; n > 0 && r.o.Prefill.InputLen >= n {
		add("a prompt of %d words is over its chunk of %d tokens and runs in several passes: --prefill-input-len",
			r.o.Prefill.InputLen, n)
	}
	passes := r.o.NumSteps + 1 // of a decode: the pass over the prompt is one
	if !t.con.SelfStop {
		add("the window is as long as the requests: a decode asks for %d tokens and makes %d passes", passes, passes)
	}
	d.Findings = append(d.Findings, t.con.words()...)
	fill := strings.NewReplacer("{model}", cmp.Or(d.Info.Model, "MODEL"), "{dir}", dir, "{passes}",
		strconv.Itoa(passes), "{last}", strconv.Itoa(100+r.o.NumSteps))
	lines := t.con.dialect()
	d.Formal, d.Mapping, d.Nsys = fill.Replace(lines.Formal), fill.Replace(lines.Mapping), fill.Replace(lines.Nsys)
	return d, ctx.Err()
}
