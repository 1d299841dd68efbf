package triage

import (
	"bytes"
	_ "embed" // the data files below
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/goccy/go-json"
)

// registrySchema is the version of the fusion file this package reads. Version
// 1 was a list of substrings; 2 adds steps and chains.
const registrySchema = 2

// maxSteps is how many kinds of work a registry may define: a kernel's set of
// them is one machine word.
const maxSteps = 64

//go:embed data/fusion.json
var fusionData []byte

//go:embed data/catalog.json
var catalogData []byte

// ErrRegistry reports a fusion or catalogue file that breaks its schema.
var ErrRegistry = errors.New("triage: invalid registry")

// Registry is a set of known fused paths: which kernels show that one is used,
// and which chain of kernels shows that it is not.
type Registry struct {
	AsOf     string        // date of the entries, as their file has it
	Steps    []Step        // kernels that chains are made of
	Patterns []FusePattern // known fused paths
	Families []Family      // the wider catalogue; only similarity notes use it

	index map[string]int // step name → bit
}

// Step is one kind of work a kernel can do, and how it is recognised. A kernel
// does a step if Kinds, Categories, Names, Ops, Frames, Texts or Template
// recognise it (with All: both Names and Ops), and Without, Requires and
// OnlyCategories do not take it back. Names, Ops, Frames and Without hold word
// patterns of [classify.Name.HasIdentifier]: whole words, never letters inside
// one, never template arguments.
type Step struct {
	Name       string         `json:"step"`
	Note       string         `json:"note"`
	Kinds      []string       `json:"kinds,omitempty"`      // of the activity: "memset", "memcpy"
	Categories []string       `json:"categories,omitempty"` // of the classifier
	Names      []string       `json:"names,omitempty"`      // in the kernel's name
	Ops        []string       `json:"ops,omitempty"`        // in the name of its cpu op
	Frames     []string       `json:"frames,omitempty"`     // in the function of its source line
	Texts      []string       `json:"texts,omitempty"`      // verbatim in the demangled name, for enum arguments
	Template   []TemplateTest `json:"template,omitempty"`
	// TemplateOnly lists kernels whose name promises more than an instance
	// does; only Template, Ops and Texts decide about them.
	TemplateOnly   []string `json:"template_only,omitempty"`
	Without        []string `json:"without,omitempty"`        // in the kernel's name
	Requires       []string `json:"requires,omitempty"`       // earlier steps that must hold too
	OnlyCategories []string `json:"categories_any,omitempty"` // nothing outside these
	All            bool     `json:"all,omitempty"`
}

// TemplateTest asks for one template argument of one kernel.
type TemplateTest struct {
	Name  string `json:"name"`
	Index int    `json:"index"`
	Value string `json:"value"`
}

// Where a fused path lives.
const (
	OriginMainline = "mainline" // in the server's main branch
	OriginUpstream = "upstream" // in another project, usable from there
	OriginInflight = "inflight" // an open change
)

// FusePattern is a known fused path.
type FusePattern struct {
	Pattern        string   `json:"pattern"`
	Origin         string   `json:"origin"`
	Frameworks     []string `json:"frameworks"`
	CandidatePaths []string `json:"candidate_paths"` // where the fused path is in the source
	Rationale      string   `json:"rationale"`
	// Active holds word patterns of the fused kernel or its op, ActiveSteps
	// steps that only the fused kernel does.
	Active      []string    `json:"active"`
	ActiveSteps []string    `json:"active_steps"`
	Chain       []ChainStep `json:"chain"`   // the unfused steps in order; empty: cannot be told from a trace
	Fillers     int         `json:"fillers"` // small kernels allowed between two steps
	// Repeat is "layer" for chains of a decoder layer, "pass" for those of a step.
	Repeat string `json:"repeat"`
	// Platforms the fused path is known for ("cuda", "rocm"); empty means any.
	Platforms []string `json:"platforms"`
	// Gain names the steps whose whole time the fused path saves; empty means
	// all but the longest kernel of the chain.
	Gain           []string `json:"gain"`
	ModelInclude   []string `json:"model_include"`
	ModelExclude   []string `json:"model_exclude"`
	RequireTP      bool     `json:"require_tp"`
	MinTPSize      int      `json:"min_tp_size"`
	MinSharePct    float64  `json:"min_share_pct"`
	LikelySharePct float64  `json:"likely_share_pct"`
	Priority       int      `json:"priority"`
	Subsumes       []string `json:"subsumes"`
}

// ChainStep is one step of an unfused chain.
type ChainStep struct {
	Any     []string `json:"any"`               // steps, one of which the kernel does
	Without []string `json:"without,omitempty"` // steps it must not do
	Names   []string `json:"names,omitempty"`   // word patterns, one of which its name has
	Min     int      `json:"min,omitempty"`     // kernels, default 1
	Max     int      `json:"max,omitempty"`     // kernels, default Min
	Before  string   `json:"before,omitempty"`  // step of the next kernel that is not a filler
	Through []string `json:"through,omitempty"` // categories of kernels allowed in front of this step
}

// Family is one entry of the catalogue of known fusion and overlap families.
type Family struct {
	ID          string   `json:"id"`
	Pattern     string   `json:"pattern"`
	Kind        string   `json:"kind"`      // "fused" or "overlap"
	Scope       string   `json:"scope"`     // "llm", "vlm" or "diffusion"
	Status      string   `json:"status"`    // "mainline" or "in-flight"
	Framework   string   `json:"framework"` // where it comes from
	Identifiers []string `json:"identifiers"`
	Cues        []string `json:"cues"` // signs that are not identifiers
	Paths       []string `json:"paths"`
	Description string   `json:"description"`
}

// DefaultRegistry returns the registry that comes with this package.
func DefaultRegistry() *Registry {
	r, err := LoadRegistry(bytes.NewReader(fusionData))
	if err == nil {
		r.Families, err = LoadFamilies(bytes.NewReader(catalogData))
	}
	if err != nil {
		panic(err) // the embedded files are checked by a test
	}
	return r
}

// LoadRegistry reads and checks a fusion file. Its errors match [ErrRegistry]
// except those of r itself.
func LoadRegistry(r io.Reader) (*Registry, error) {
	var doc struct {
		Schema   int           `json:"schema"`
		AsOf     string        `json:"as_of"`
		Steps    []Step        `json:"steps"`
		Patterns []FusePattern `json:"patterns"`
	}
	if err := decodeStrict(r, &doc); err != nil {
		return nil, err
	}
	if doc.Schema != registrySchema {
		return nil, fmt.Errorf("%w: schema %d, this version reads %d", ErrRegistry, doc.Schema, registrySchema)
	}
	reg := &Registry{AsOf: doc.AsOf, Steps: doc.Steps, Patterns: doc.Patterns, index: map[string]int{}}
	if err := reg.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRegistry, err)
	}
	return reg, nil
}

// LoadFamilies reads and checks a catalogue file.
func LoadFamilies(r io.Reader) ([]Family, error) {
	var doc struct {
		Schema   int      `json:"schema"`
		AsOf     string   `json:"as_of"`
		Families []Family `json:"families"`
	}
	if err := decodeStrict(r, &doc); err != nil {
		return nil, err
	}
	if doc.Schema != 1 {
		return nil, fmt.Errorf("%w: catalogue schema %d, this version reads 1", ErrRegistry, doc.Schema)
	}
	seen := map[string]bool{}
	for _, f := range doc.Families {
		switch {
		case f.ID == "" || seen[f.ID]:
			return nil, fmt.Errorf("%w: family id %q is empty or used twice", ErrRegistry, f.ID)
		case f.Pattern == "" || f.Description == "":
			return nil, fmt.Errorf("%w: family %q has no pattern or description", ErrRegistry, f.ID)
		case f.Kind != "fused" && f.Kind != "overlap":
			return nil, fmt.Errorf("%w: family %q: kind %q", ErrRegistry, f.ID, f.Kind)
		}
		seen[f.ID] = true
	}
	return doc.Families, nil
}

func decodeStrict(r io.Reader, v any) error {
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("%w: %w", ErrRegistry, err)
	}
	return nil
}

func (reg *Registry) check() error {
	if len(reg.Steps) > maxSteps {
		return fmt.Errorf("%d steps, at most %d", len(reg.Steps), maxSteps)
	}
	for i, s := range reg.Steps {
		if s.Name == "" {
			return fmt.Errorf("step %d has no name", i)
		}
		if _, dup := reg.index[s.Name]; dup {
			return fmt.Errorf("step %q is defined twice", s.Name)
		}
		for _, q := range s.Requires {
			if _, ok := reg.index[q]; !ok {
				return fmt.Errorf("step %q requires %q, which is not defined before it", s.Name, q)
			}
		}
		if len(s.Kinds)+len(s.Categories)+len(s.Names)+len(s.Ops)+len(s.Frames)+len(s.Texts)+len(s.Template) == 0 {
			return fmt.Errorf("step %q recognises nothing", s.Name)
		}
		reg.index[s.Name] = i
	}
	names := map[string]bool{}
	for _, p := range reg.Patterns {
		if p.Pattern == "" || names[p.Pattern] {
			return fmt.Errorf("pattern name %q is empty or used twice", p.Pattern)
		}
		names[p.Pattern] = true
	}
	for _, p := range reg.Patterns {
		if err := reg.checkPattern(p, names); err != nil {
			return fmt.Errorf("pattern %q: %w", p.Pattern, err)
		}
	}
	return nil
}

func (reg *Registry) checkPattern(p FusePattern, names map[string]bool) error {
	if !slices.Contains([]string{OriginMainline, OriginUpstream, OriginInflight}, p.Origin) {
		return fmt.Errorf("origin %q", p.Origin)
	}
	if p.Repeat != "layer" && p.Repeat != "pass" {
		return fmt.Errorf("repeat %q", p.Repeat)
	}
	if len(p.Frameworks) == 0 || len(p.CandidatePaths) == 0 || p.Rationale == "" {
		return errors.New("frameworks, candidate_paths and rationale must be given")
	}
	for _, f := range p.Frameworks {
		if serverKey(f) == "" {
			return fmt.Errorf("framework %q", f)
		}
	}
	if p.MinSharePct < 0 || p.LikelySharePct < p.MinSharePct {
		return fmt.Errorf("shares %v and %v", p.MinSharePct, p.LikelySharePct)
	}
	for _, s := range p.Subsumes {
		if !names[s] {
			return fmt.Errorf("subsumes %q, which does not exist", s)
		}
	}
	steps := append(append([]string(nil), p.ActiveSteps...), p.Gain...)
	kernels := 0
	for _, c := range p.Chain {
		if len(c.Any) == 0 {
			return errors.New("chain step without a step")
		}
		if c.Min < 0 || c.Max < 0 || c.Max > 0 && c.Max < max(c.Min, 1) {
			return fmt.Errorf("chain step of %d to %d kernels", c.Min, c.Max)
		}
		kernels += max(c.Min, 1)
		steps = append(append(steps, c.Any...), c.Without...)
		if c.Before != "" {
			steps = append(steps, c.Before)
		}
	}
	if kernels == 1 {
		return errors.New("a chain needs two kernels")
	}
	for _, s := range steps {
		if _, ok := reg.index[s]; !ok {
			return fmt.Errorf("unknown step %q", s)
		}
	}
	return nil
}

// stepSet is a set of steps, one bit each.
type stepSet uint64

func (reg *Registry) set(names []string) stepSet {
	var s stepSet
	for _, n := range names {
		s |= 1 << reg.index[n]
	}
	return s
}
