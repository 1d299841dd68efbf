package roofline

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/profile"
	"github.com/llmstrata/strata/trace"
)

// lookAlike finds the public models that the recording may be of: those with its layers of a full pass, and the sizes
// of a table of the vocabulary that an op looked rows up in, or multiplied with outside of layers, else the one with
// its layers that its path names. Where the products were recorded as well, their sizes give better floors than a model
// that is only taken to be the one; of graph replays and of kernels that no op describes they were not: see
// [Report.assume].
func (w *walk) lookAlike(a *layer.Analysis) {
	layers, divided := w.plan.Kinds[0].Layers, exchanges(a)
	add := func(vocabulary, hidden int64) {
		for _, m := range profile.Like(layers, int(vocabulary), int(hidden)) {
			if divided || vocabulary >= int64(m.Config.VocabSize) {
				w.alike = append(w.alike, m)
			}
		}
	}
	if w.ops != nil {
		for key, r := range w.ops.inputs {
			if row := w.ops.table.find(key.op); row != nil && row.embeds {
				if sizes := r.inputs.Dim(0); len(sizes) == 2 {
					add(sizes[0], sizes[1])
				}
			}
		}
		for i := range w.ops.groups {
			if g := &w.ops.groups[i]; g.main.Place().Layer == trace.None {
				add(g.work.N, g.work.K)
			}
		}
	}
	slices.SortFunc(w.alike, func(x, y profile.KnownModel) int { return cmp.Compare(x.Name, y.Name) })
	w.alike = slices.CompactFunc(w.alike, func(x, y profile.KnownModel) bool { return x.Name == y.Name })
	w.bySizes = len(w.alike) > 0
	if m, ok := profile.NamedIn(a.Trace().Meta().Path, layers); ok && !w.bySizes {
		w.alike = append(w.alike, m)
	}
}

// assume returns r with the floors of the only model that has the recording's sizes, where recorded inputs give most of
// the GPU time none; r, where that model gives no more of them, or contradicts times, recorded inputs or kernels. A
// config that was given and that the trace contradicts changes nothing: it is left out.
func (r *Report) assume(ctx context.Context, a *layer.Analysis, o Options) (*Report, error) {
	s := r.steady()
	if r.alone == nil || s == nil || s.Covered >= fewCovered {
		return r, nil
	}
	o.Config = r.alone.Config
	as, err := analyze(ctx, a, o)
	if err != nil {
		return nil, err
	}
	if t := as.steady(); t == nil || !t.HasFloor() || t.Covered <= s.Covered {
		return r, nil
	}
	if len(as.against) > 0 {
		r.Notes = append(r.Notes, r.alone.Name+" is not assumed, as "+as.against[0])
		return r, nil
	}
	as.Assumed, as.Likely, as.alone = true, r.Likely, r.alone
	as.Notes = append([]string{fmt.Sprintf("assumed: this looks like %s, and no other known model does; floors rest on "+
		"that; --config says which model it is", r.alone)}, as.Notes...)
	for i := range as.Findings {
		if f := &as.Findings[i]; f.Kind == finding.AboveFloor {
			f.Evidence += " The model is assumed: " + r.alone.Name + "."
			f.Confidence = min(f.Confidence, finding.Medium)
		}
	}
	return as, nil
}

// AssumedConfig is the config of the model where that is assumed, nil elsewhere.
func (r *Report) AssumedConfig() *profile.Config {
	if !r.Assumed {
		return nil
	}
	return r.alone.Config
}

// likely says which public models the recording may be of, one note or none.
func (w *walk) likely() []string {
	switch {
	case len(w.alike) == 0:
		return nil
	case !w.bySizes:
		return []string{fmt.Sprintf("the recording's path and its %d layers are those of %s; if it is this model, pass "+
			"--config %[2]s", w.alike[0].Config.NumLayers, w.alike[0].Name)}
	case len(w.alike) == 1:
		return []string{fmt.Sprintf("this looks like %s; if it is, pass --config %s", &w.alike[0], w.alike[0].Name)}
	}
	var all []string
	for i := range w.alike {
		all = append(all, w.alike[i].String())
	}
	return []string{"the sizes are those of " + strings.Join(all, " or ") + "; --config NAME says which it is"}
}

// names are those of the models that it may be.
func (w *walk) names() []string {
	var out []string
	for i := range w.alike {
		out = append(out, w.alike[i].Name)
	}
	return out
}

// Wanted says what would give the operators floors where the model's config is not known.
func (r *Report) Wanted() string { return wanted(r.Likely, r.role) }

func wanted(likely []string, role layer.Role) string {
	switch {
	case beyondConfigs(role):
		return "record with `record_shapes=True` and without graphs"
	case len(likely) == 1:
		return "pass `--config " + likely[0] + "`, if it is this model"
	}
	return "pass `--config` with a file or a public model's name"
}

// beyondConfigs reports whether no config.json describes the layers of models of a role.
func beyondConfigs(role layer.Role) bool {
	return role == layer.RoleDenoiser || role == layer.RoleDecoder || role == layer.RoleTower
}

// roleOf is the role of the model of a pass.
func roleOf(d *layer.Device, pass int) layer.Role {
	if m := d.Passes[pass].Model; m >= 0 && m < len(d.Models) {
		return d.Models[m].Role
	}
	return layer.RoleUnknown
}
