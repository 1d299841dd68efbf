package triage

import (
	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer"
)

// Option changes what [Analyze] computes.
type Option interface{ apply(*config) }

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

type config struct {
	minShare     float64
	kernelLimit  int
	overlapLimit int
	rules        *classify.Ruleset
	registry     *Registry
	framework    string
	model        string
	tpSize       int
	process      string
	layers       layer.Options
}

// DefaultMinSharePct is the bar below which rows are hidden (the reference's).
const DefaultMinSharePct = 1.0

// defaultOverlapLimit is how many headroom rows, and how many low-roi-hidden
// rows, a stage lists (the reference's).
const defaultOverlapLimit = 5

// WithMinShare hides rows below pct percent of their stage's GPU time. Default
// [DefaultMinSharePct]; 0 shows all kernels.
func WithMinShare(pct float64) Option { return optionFunc(func(c *config) { c.minShare = pct }) }

// WithKernelLimit shows at most n kernel rows per stage; 0, the default, means
// no limit.
func WithKernelLimit(n int) Option { return optionFunc(func(c *config) { c.kernelLimit = n }) }

// WithOverlapLimit shows at most n rows of each overlap verdict; default 5.
func WithOverlapLimit(n int) Option { return optionFunc(func(c *config) { c.overlapLimit = n }) }

// WithRules replaces the classifier's rules. Default [classify.Default].
func WithRules(r *classify.Ruleset) Option { return optionFunc(func(c *config) { c.rules = r }) }

// WithRegistry replaces the registry of fused paths. Default [DefaultRegistry].
func WithRegistry(r *Registry) Option { return optionFunc(func(c *config) { c.registry = r }) }

// WithFramework says which server made the traces instead of finding out.
func WithFramework(name string) Option { return optionFunc(func(c *config) { c.framework = name }) }

// WithModel says which model was served instead of reading server_args.json.
func WithModel(name string) Option { return optionFunc(func(c *config) { c.model = name }) }

// WithTPSize says how many tensor-parallel ranks there were; 0 means unknown.
func WithTPSize(n int) Option { return optionFunc(func(c *config) { c.tpSize = n }) }

// WithProcess keeps only activities that were launched by a process whose id,
// label or name contains text, for files into which several ranks were merged.
// Empty, the default, keeps all.
func WithProcess(text string) Option { return optionFunc(func(c *config) { c.process = text }) }

// WithLayers says how the layers are found by which replayed kernels are aligned
// with eager launches: the model's config, the number of layers. Its Mapping is
// not used. Default: as the trace itself tells.
func WithLayers(o layer.Options) Option { return optionFunc(func(c *config) { c.layers = o }) }
