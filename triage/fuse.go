package triage

import (
	"slices"
	"strings"
)

// Confidence of a fuse row.
const (
	confidenceConfirmed = "Confirmed" // its share is that of a typical occurrence
	confidenceCandidate = "Candidate" // smaller, or something about it is not known
)

// ofServer reports whether a pattern is one of the report's server, or the server
// is not known.
func (a *analysis) ofServer(p *FusePattern) bool {
	key := serverKey(a.report.Framework)
	return key == "" || p.AnyServer || slices.Contains(p.Frameworks, key)
}

// applies reports whether a pattern's filters let its chain be looked for. The
// filters on the model need a model; what is not known about tensor parallelism is
// decided by the evidence.
func (a *analysis) applies(p *FusePattern) bool {
	if !a.ofServer(p) {
		return false
	}
	model := strings.ToLower(a.modelText())
	named := func(list []string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(model, strings.ToLower(w)) })
	}
	if len(p.ModelInclude) > 0 && !named(p.ModelInclude) || named(p.ModelExclude) {
		return false
	}
	return !(p.RequireTP && a.report.TPSize > 0 && a.report.TPSize < p.MinTPSize)
}

// modelText is the model's name, with the model file its kernels were launched
// from where the trace has frames: models/qwen3_moe.py names the family as well.
func (a *analysis) modelText() string {
	return a.report.Model + " " + a.modelFiles
}

// findModelFiles collects the base names of model files among the sites.
func (a *analysis) findModelFiles() {
	var out []string
	for _, s := range a.pool.sites.texts {
		path, _, _ := locationParts(s)
		i := strings.LastIndex(path, "models/")
		if i < 0 {
			continue
		}
		name := strings.TrimSuffix(path[i+len("models/"):], ".py")
		if name != "utils" && name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	a.modelFiles = strings.Join(out, " ")
}

// platform is that of the stage's launches, "" when unknown.
func (s *stageWork) platform() string {
	for _, w := range s.parts {
		if w.hip {
			return "rocm"
		}
	}
	for _, w := range s.parts {
		if w.cuda {
			return "cuda"
		}
	}
	return ""
}
