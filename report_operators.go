package strata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/roofline"
)

// What stands for the type of layer: of operators beside the layers, and where
// all layers are of one type.
const outsideLayers, onlyLayers = "outside layers", "layers"

// main returns the part with most GPU time, nil where there is none.
func (r *Report) main() *reportPart {
	var m *reportPart
	for _, p := range r.parts {
		if p.d != nil && (m == nil || p.d.Time > m.d.Time) {
			m = p
		}
	}
	return m
}

// addLight holds the passes against what the GPU can do. Without a config there
// are no floors, which a note says.
func (r *Report) addLight(ctx context.Context, o ReportOptions) error {
	p := r.main()
	if p == nil {
		return nil
	}
	light, err := roofline.Analyze(ctx, p.a, o.Light)
	switch {
	case errors.Is(err, roofline.ErrNoConfig):
		r.note("no config.json of the model is known, so nothing says how far its operators are from what the GPU can do: --config FILE")
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", p.name, err)
	}
	for _, n := range light.Notes {
		r.note("%s", n)
	}
	r.Model = cmp.Or(light.Model, r.Model)
	if light.GPU != nil && r.GPU == "" {
		r.GPU = light.GPU.ID
	}
	for i := range r.Passes {
		at := &r.Passes[i]
		for k := range light.Passes {
			if at.Trace == r.index(p) && light.Passes[k].Index == at.Index {
				at.Floor = light.Passes[k].Floor
			}
		}
	}
	r.light = light
	r.addRecoverable(p, light)
	return nil
}

func (r *Report) index(p *reportPart) int {
	for i := range r.parts {
		if r.parts[i] == p {
			return i
		}
	}
	return -1
}

// addRecoverable makes findings of what stands above its floor.
func (r *Report) addRecoverable(p *reportPart, light *roofline.Report) {
	if light.Steady < 0 || light.Steady >= len(p.d.Passes) {
		return
	}
	for _, it := range light.Recoverable {
		if it.Kernel == "" {
			continue // idle time: the ledger of causes tells it
		}
		kind := "above-floor"
		if it.What == "small operators" {
			kind = "small-kernels"
		}
		r.addOf(p, light.Steady, Finding{Kind: kind, Text: fmt.Sprintf("%s: %s", it.What, it.Why), PerStep: it.Time,
			Where: fmt.Sprintf("pass %d, %s, the longest %s", light.Steady, it.Place, table.Cut(table.Clean(it.Kernel), longestName)), Do: "", Next: command("light", p)})
	}
}

// add appends a finding with a size, of all steps of a stage of a part.
func (r *Report) add(p *reportPart, stage layer.Stage, f Finding) {
	n, wall := p.steps(stage)
	if n == 0 {
		return
	}
	f.Stage, f.total = stage, f.PerStep*time.Duration(n)
	f.Share = ratio(f.total, wall)
	r.keep(f)
}

// addOf appends a finding with the size it has in one pass, which stands for those of its kind: they lose the same share. Passes that the
// window cuts run a part of it, so that their number would say too much.
func (r *Report) addOf(p *reportPart, pass int, f Finding) {
	f.Stage, f.Share = p.d.Passes[pass].Stage, ratio(f.PerStep, p.wall[pass])
	f.total = time.Duration(f.Share * float64(p.alike(pass)))
	r.keep(f)
}

// keep appends a finding with a size. Nothing costs more than all steps take: where one seems to, a pass stood badly for the others.
func (r *Report) keep(f Finding) {
	if f.PerStep > 0 && f.Share <= 1 {
		r.Findings = append(r.Findings, f)
	}
}

// command is the next command of a finding in one trace.
func command(name string, p *reportPart, flags ...string) string {
	text := "strata " + name
	if p.name != "" { // "" for what is no file, such as a built-in trace
		text += " " + shellQuote(p.name)
	}
	for _, f := range flags {
		text += " " + f
	}
	return text
}

// operatorKey tells the rows of operators of one pass apart.
type operatorKey struct{ layerType, operator string }

// operatorSum adds up one row.
type operatorSum struct {
	ReportOperator
	layers   map[int]bool
	longest  time.Duration
	category map[classify.Category]time.Duration
}

// addOperators lists the operators of the chosen passes.
func (r *Report) addOperators() {
	for i, p := range r.parts {
		for _, pass := range p.chosen {
			for _, s := range p.operators(pass) {
				row := s.ReportOperator
				row.Trace, row.Pass, row.Stage, row.Layers = i, pass, p.d.Passes[pass].Stage, len(s.layers)
				row.Share = ratio(row.Time, p.wall[pass])
				row.Category = p.d.CategoryLabel(largest(s.category))
				if r.light != nil && p == r.main() && pass == r.light.Steady {
					r.addFloor(&row)
				}
				r.Operators = append(r.Operators, row)
			}
		}
	}
}

// addFloor takes over what the operator has to take.
func (r *Report) addFloor(row *ReportOperator) {
	for _, l := range r.light.Operators {
		if l.LayerType == row.LayerType && l.Operator == row.Operator {
			row.Floor, row.Bound, row.PeakShare = l.Floor, l.Bound, l.PeakShare
			return
		}
	}
}

// operators sums the kernels of a pass by layer type and operator, in order of
// first appearance.
func (p *reportPart) operators(pass int) []*operatorSum {
	rows := map[operatorKey]*operatorSum{}
	var order []*operatorSum
	for k := range p.d.Kernels() {
		at := k.Place()
		if at.Pass != pass {
			continue
		}
		op, _, _ := k.Operator()
		key := operatorKey{p.layerType(at), cmp.Or(string(op), opname.Other)}
		s := rows[key]
		if s == nil {
			s = &operatorSum{layers: map[int]bool{}, category: map[classify.Category]time.Duration{}}
			s.LayerType, s.Operator = key.layerType, key.operator
			rows[key] = s
			order = append(order, s)
		}
		d := k.Event().Duration()
		s.Time += d
		s.Kernels++
		s.category[k.Category()] += d
		if at.Layer >= 0 {
			s.layers[at.Layer] = true
		}
		if d > s.longest || s.Kernel == "" {
			s.longest, s.Kernel = d, k.Facts().Short
		}
	}
	return order
}

// layerType is the type of the layer at a place: what the config says it is
// made of, else its type where that says more than where it stands.
func (p *reportPart) layerType(at layer.Place) string {
	if at.Layer < 0 {
		return outsideLayers
	}
	if c := p.a.Config; c != nil && at.Layer < len(c.Layers) {
		return c.Layers[at.Layer].String()
	}
	switch t := p.types[layer.Place{Pass: at.Pass, Layer: at.Layer}]; t {
	case "", "FIRST", "LAYER", "FINAL":
		return onlyLayers
	default:
		return t
	}
}

// largest returns the key of the largest sum, of equal ones the first in the
// alphabet.
func largest[K cmp.Ordered](sums map[K]time.Duration) K {
	var best K
	found := false
	for k, d := range sums {
		if !found || d > sums[best] || d == sums[best] && k < best {
			best, found = k, true
		}
	}
	return best
}
