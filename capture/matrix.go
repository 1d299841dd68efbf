package capture

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"time"

	"github.com/goccy/go-json"
)

// Plan is one model on several servers. It is read from JSON; unknown fields
// are errors, for a misspelt one would be a default instead.
type Plan struct {
	// Title heads the bundle.
	Title string `json:"title,omitempty"`
	// OutputDir holds a folder per entry; relative to the plan file.
	OutputDir string      `json:"output_dir"`
	Entries   []PlanEntry `json:"entries"`
}

// PlanEntry is one server, or a pair of them: mapping is the one with graphs and fusion off, which leads kernels back
// to source, formal the one whose times count.
type PlanEntry struct {
	// Name is the entry's folder: letters, digits, dot, dash, underscore.
	Name      string    `json:"name"`
	Framework Framework `json:"framework,omitempty"`
	// URL, or MappingURL and FormalURL.
	URL        string `json:"url,omitempty"`
	MappingURL string `json:"mapping_url,omitempty"`
	FormalURL  string `json:"formal_url,omitempty"`
	// OutputDir replaces OUT/<name> where a server fixes its folder (vLLM, TensorRT-LLM); relative to the plan file. A
	// pair has the folders mapping and formal in it. ServerOutputDir is the same folder as the server sees it.
	OutputDir       string `json:"output_dir,omitempty"`
	ServerOutputDir string `json:"server_output_dir,omitempty"`
	// Stages is a workload: both, prefill, decode, legacy.
	Stages Workload `json:"stages,omitempty"`
	// The rest are as in Options.
	NumSteps    int    `json:"num_steps,omitempty"`
	WarmupSteps int    `json:"warmup_steps,omitempty"`
	Concurrency int    `json:"concurrency,omitempty"`
	ExpectRanks int    `json:"ranks,omitempty"`
	Model       string `json:"model,omitempty"`
}

// entryName keeps an entry inside the output folder.
var entryName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// LoadPlan reads and checks a plan file.
func LoadPlan(path string) (*Plan, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("capture: plan: %w", err)
	}
	defer f.Close()
	dec := json.NewDecoder(f)
	dec.DisallowUnknownFields()
	var p Plan
	if err = dec.Decode(&p); err == nil && p.OutputDir == "" {
		err = errors.New("no output_dir")
	}
	dirs := []*string{&p.OutputDir}
	for i := range p.Entries {
		dirs = append(dirs, &p.Entries[i].OutputDir)
	}
	for _, d := range dirs {
		if *d != "" && !filepath.IsAbs(*d) {
			*d = filepath.Join(filepath.Dir(path), *d)
		}
	}
	if err == nil {
		err = p.check()
	}
	if err != nil {
		return nil, fmt.Errorf("capture: plan %s: %w", path, err)
	}
	return &p, nil
}

// check reports the first entry that cannot be run. It settles the frameworks' names.
func (p *Plan) check() error {
	if len(p.Entries) == 0 {
		return errors.New("no entries")
	}
	seen := map[string]bool{}
	for i := range p.Entries {
		e := &p.Entries[i]
		fail := func(format string, args ...any) error {
			return fmt.Errorf("entry %d (%s): %s", i+1, e.Name, fmt.Sprintf(format, args...))
		}
		var err error
		if e.Framework, err = ParseFramework(string(e.Framework)); err != nil {
			return fail("%v", err)
		}
		if err := e.Stages.UnmarshalText([]byte(e.Stages)); err != nil {
			return fail("%v", err)
		}
		switch {
		case !entryName.MatchString(e.Name):
			return fail("the name is a folder: letters, digits, dot, dash and underscore only")
		case seen[e.Name]:
			return fail("the name is taken")
		case (e.MappingURL == "") != (e.FormalURL == ""):
			return fail("mapping_url and formal_url belong together")
		case (e.URL == "") == (e.MappingURL == ""):
			return fail("want either url, or mapping_url and formal_url")
		}
		seen[e.Name] = true
	}
	return nil
}

// CaptureRole is the role of a capture in an entry.
type CaptureRole string

// The roles of a capture: one of a pair, or one alone.
const (
	RoleSingle  CaptureRole = "single"
	RoleMapping CaptureRole = "mapping" // with graphs and fusion off, for source lines
	RoleFormal  CaptureRole = "formal"  // for times
)

// Entry is what [Matrix].Analyse is handed: one plan entry with all its captures, the mapping one first.
type Entry struct {
	// Name and Framework are the plan's; a framework to be found out is filled in by the first capture.
	Name      string    `json:"name"`
	Framework Framework `json:"framework"`
	// Captures are those made, in the order of their roles, also INVALID ones; none is nil.
	Captures []*Result `json:"captures"`
	// Dir is the entry's folder below the plan's output folder; for reports.
	Dir string `json:"dir"`
	// Error says why the entry is not complete, "" when it is.
	Error string `json:"error,omitempty"`
}

// Matrix runs a plan.
type Matrix struct {
	// Options are the base of each capture; the plan's fields replace theirs.
	Options Options
	// Restart captures anew what an earlier run has captured.
	Restart bool
	// Probe, when set, is handed the answers to a few short requests to each
	// server whose capture is new, the formal one of a pair, or why there are none.
	Probe func(e Entry, r *ProbeReport) error
	// Analyse, when set, is called for each entry, also where a capture failed or is not valid: Entry.Error and its
	// captures' verdicts say so. Its error fails the entry, too.
	Analyse func(ctx context.Context, e Entry) error
	// Log, when set, receives progress, one line per call.
	Log func(line string)
}

// Run captures every entry of the plan that is not captured yet, one after the other, and hands each to Analyse. A
// failed entry does not keep the others from being tried; the error joins all failures. After a cancelled context
// nothing further is begun. A capture counts as done on the next run when its folder's capture.json is of the same
// server and options, is not INVALID, and its files are there with the sizes noted.
func (m Matrix) Run(ctx context.Context, p *Plan) ([]Entry, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("capture: plan: %w", err)
	}
	var entries []Entry
	var errs []error
	for i := range p.Entries {
		e := &p.Entries[i]
		entry := Entry{Name: e.Name, Framework: e.Framework, Dir: filepath.Join(p.OutputDir, e.Name)}
		err := m.entry(ctx, e, &entry)
		if err != nil {
			entry.Error = err.Error()
		}
		if m.Analyse != nil && ctx.Err() == nil {
			m.log("%s: analysing", e.Name)
			err = join(err, m.Analyse(ctx, entry))
		}
		switch {
		case ctx.Err() != nil:
			return append(entries, entry), join(append(errs, context.Cause(ctx))...)
		case err != nil:
			entry.Error = err.Error()
			errs = append(errs, fmt.Errorf("%s: %w", e.Name, err))
			m.log("%s: failed: %v", e.Name, err)
		}
		entries = append(entries, entry)
	}
	return entries, join(errs...)
}

func (m Matrix) log(format string, args ...any) {
	if m.Log != nil {
		m.Log(fmt.Sprintf(format, args...))
	}
}

// entry captures what is missing of one entry.
func (m Matrix) entry(ctx context.Context, e *PlanEntry, out *Entry) error {
	var errs []error
	for _, c := range m.captures(e, out.Dir) {
		role, o := c.role, c.o
		key := e.Name + "/" + string(role)
		if old := o.captured(); old != nil && !m.Restart {
			m.log("%s: captured by an earlier run, %d traces", key, len(old.Files()))
			out.add(role, old, true)
			continue
		}
		m.log("%s: capturing from %s into %s", key, shownURL(o.URL), o.OutputDir)
		begin := time.Now()
		res, err := Run(ctx, o)
		if res != nil {
			out.add(role, res, false)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", role, err))
		} else {
			m.log("%s: %d traces in %.1f s", key, len(res.Files()), time.Since(begin).Seconds())
		}
		if ctx.Err() != nil {
			break
		}
		if m.Probe == nil || role == RoleMapping {
			continue
		}
		rep, err := Probe(ctx, o)
		if rep == nil {
			rep = &ProbeReport{Server: shownURL(o.URL), Framework: o.Framework, Prompts: []string{},
				Errors: []string{err.Error()}, Samples: []Sample{}}
		}
		if err = join(err, m.Probe(*out, rep)); err != nil {
			errs = append(errs, fmt.Errorf("%s: probe: %w", role, err))
		}
	}
	return join(errs...)
}

// roled are the options of one capture of an entry.
type roled struct {
	role CaptureRole
	o    Options
}

// captures are those of an entry, the mapping one first.
func (m Matrix) captures(e *PlanEntry, dir string) []roled {
	o := m.Options
	o.Framework, o.Workload = e.Framework, e.Stages
	o.NumSteps = cmp.Or(e.NumSteps, o.NumSteps)
	o.WarmupSteps = cmp.Or(e.WarmupSteps, o.WarmupSteps)
	o.ExpectRanks = cmp.Or(e.ExpectRanks, o.ExpectRanks)
	o.Concurrency = cmp.Or(e.Concurrency, o.Concurrency)
	o.Model = cmp.Or(e.Model, o.Model)
	o.OutputDir, o.ServerOutputDir = cmp.Or(e.OutputDir, dir), e.ServerOutputDir
	if e.URL != "" {
		o.URL = e.URL
		return []roled{{RoleSingle, o}}
	}
	return []roled{{RoleMapping, o.As(RoleMapping, e.MappingURL)}, {RoleFormal, o.As(RoleFormal, e.FormalURL)}}
}

// As are the options of one of two captures of a model: its address, a folder of its own, and what its role asks for
// where nobody has. The mapping capture leads kernels back to source, with stacks and shapes; the formal one is for
// times, which both of them cost.
func (o Options) As(role CaptureRole, url string) Options {
	o.URL, o.Workers, o.OutputDir = url, nil, filepath.Join(o.OutputDir, string(role))
	if o.ServerOutputDir != "" {
		o.ServerOutputDir = filepath.Join(o.ServerOutputDir, string(role))
	}
	maps := role == RoleMapping
	o.WithStack, o.RecordShapes = cmp.Or(o.WithStack, &maps), cmp.Or(o.RecordShapes, &maps)
	return o
}

// add appends a capture and learns the framework from it. The result in its folder has neither role nor mark.
func (e *Entry) add(role CaptureRole, r *Result, resumed bool) {
	c := *r
	c.Role, c.Resumed = role, resumed
	e.Captures = append(e.Captures, &c)
	e.Framework = cmp.Or(e.Framework, c.Framework)
}

// captured is what an earlier run with these options has left in the folder, nil unless it is of the same server and
// all of it is there, with the sizes noted. A run that was cut off since has left a note.
func (o Options) captured() *Result {
	r, err := readManifest(filepath.Join(o.OutputDir, manifestFile))
	if err != nil || r.Server != shownURL(o.URL) || r.Verdict != Valid && r.Verdict != Unchecked ||
		!reflect.DeepEqual(r.Options, o.withDefaults().provenance()) {
		return nil
	}
	if _, err := os.Lstat(filepath.Join(o.OutputDir, sessionFile)); err == nil {
		return nil
	}
	traces := 0
	for _, s := range r.Stages {
		for _, t := range s.Traces {
			if info, err := os.Lstat(t.Path); err != nil || !info.Mode().IsRegular() || info.Size() != t.Bytes {
				return nil
			}
		}
		if traces += len(s.Traces); len(s.Traces) == 0 {
			return nil
		}
	}
	if traces == 0 {
		return nil
	}
	return r
}

// RunPair captures two servers of one model, mapping first; see [Options.As]. Where that fails, there is no formal
// capture; one that is not valid is one all the same.
func RunPair(ctx context.Context, mapping, formal Options) (m, f *Result, err error) {
	m, merr := Run(ctx, mapping)
	if merr != nil {
		merr = fmt.Errorf("%s: %w", RoleMapping, merr)
	}
	if merr != nil && !errors.Is(merr, ErrInvalid) {
		return m, nil, merr
	}
	if f, err = Run(ctx, formal); err != nil {
		err = fmt.Errorf("%s: %w", RoleFormal, err)
	}
	return m, f, join(merr, err)
}
