package strata

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/layer/roofline"
)

// The layer types of operators beside the layers, and of all layers if they are of one type.
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

// askLight holds the passes against what the GPU can do. Without a config there
// are no floors, which a note says. The report is nil where nothing ran on a GPU.
func (r *Report) askLight(ctx context.Context, o ReportOptions) (*roofline.Report, error) {
	p := r.main()
	if p == nil {
		return nil, nil
	}
	o.Light.Assume = true
	light, err := roofline.Analyze(ctx, p.a, o.Light)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.name, err)
	}
	return light, nil
}

// addLight takes the floors of passes, and what can be won by operators.
func (r *Report) addLight() error {
	p, light := r.main(), r.light
	if light == nil {
		return nil
	}
	for _, n := range light.Notes {
		r.note("%s", n)
	}
	if p.config = cmp.Or(p.config, light.AssumedConfig()); light.Assumed {
		r.AssumedModel = light.Model
	} else {
		r.Model = cmp.Or(light.Model, r.Model)
	}
	if light.GPU != nil && r.GPU == "" {
		r.GPU = light.GPU.ID
	}
	if err := r.addFloors(p, light.Passes); err != nil {
		return err
	}
	for _, f := range light.Findings { // also of kinds that others have
		f.Next = finding.AboveFloor.Info().Program
		r.take(p, f)
	}
	return nil
}

// addFloors takes over what the passes of a part have to take.
func (r *Report) addFloors(p *reportPart, floors []roofline.Pass) error {
	rows := map[int]int{} // places in Passes by index
	for i := range r.Passes {
		if r.Passes[i].Trace == r.index(p) {
			rows[r.Passes[i].Index] = i
		}
	}
	for k := range floors {
		at, ok := rows[floors[k].Index]
		if !ok {
			return fmt.Errorf("strata: %s: floor of pass %d, which the report lacks", p.name, floors[k].Index)
		}
		r.Passes[at].Floor, r.Passes[at].Covered = floors[k].Floor, floors[k].Covered
	}
	return nil
}

func (r *Report) index(p *reportPart) int { return slices.Index(r.parts, p) }

// Command is the command line of strata by which a command reads the trace of most GPU time as the report did.
func (r *Report) Command(name string) string {
	if p := r.main(); p != nil {
		return r.command(name, nil, p.opens)
	}
	return r.command(name, nil)
}

// command reads files as the report did, with a command that names one GPU of several, nil for none. "" is what is no
// file, such as a built-in trace.
func (r *Report) command(name string, gpu *int, files ...string) string {
	text := "strata " + name
	for _, f := range files {
		if f != "" {
			if strings.HasPrefix(f, "-") && f != "-" {
				f = "./" + f // no flag
			}
			text += " " + shellQuote(f)
		}
	}
	refused := func(p *reportPart) bool { return p.a.Refused != nil }
	return text + r.flagText(name, gpu, !slices.ContainsFunc(r.parts, refused), func(f Flag) string { return f.Value })
}

// flagText are the flags of a command, with the values that are shown.
func (r *Report) flagText(name string, gpu *int, model bool, shown func(Flag) string) (text string) {
	if r.flags == nil {
		return ""
	}
	for _, f := range r.flags(name, gpu, model) {
		if text += " --" + f.Name; f.Value != "" {
			text += " " + shellQuote(shown(f))
		}
		if f.File && !slices.Contains(r.named, f.Value) {
			r.named = append(r.named, f.Value)
		}
	}
	return text
}

// operatorKey identifies a row of operators of a pass.
type operatorKey struct{ layerType, operator string }

// operatorSum adds up one row.
type operatorSum struct {
	ReportOperator
	layers   map[int]bool
	longest  time.Duration
	category map[classify.Category]time.Duration
}

// addOperators lists the operators of the chosen passes.
func (r *Report) addOperators() error {
	for i, p := range r.parts {
		for _, pass := range p.chosen {
			if l := r.light; l != nil && l.Model == "" && p == r.main() && pass == l.Steady {
				r.addCounted(i, pass, p)
				continue
			}
			from := len(r.Operators)
			for _, s := range p.operators(pass) {
				row := s.ReportOperator
				row.Trace, row.Pass, row.Stage, row.Layers = i, pass, p.d.Passes[pass].Stage, len(s.layers)
				row.Share = ratio(row.Time, p.wall[pass])
				row.Category = p.d.CategoryLabel(largest(s.category))
				r.Operators = append(r.Operators, row)
			}
			if r.light != nil && p == r.main() && pass == r.light.Steady {
				if err := r.addCosts(r.Operators[from:]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// addCounted lists the operators of a pass of a model that is not known as the floors have them: ops with their
// sizes, or kernels.
func (r *Report) addCounted(i, pass int, p *reportPart) {
	r.Operators = slices.Grow(r.Operators, len(r.light.Operators))
	for _, l := range r.light.Operators {
		layers := 0
		if l.LayerType != outsideLayers {
			layers = p.d.Passes[pass].NumLayers
		}
		r.Operators = append(r.Operators, ReportOperator{Trace: i, Pass: pass, Stage: p.d.Passes[pass].Stage,
			LayerType: l.LayerType, Operator: l.Operator,
			Category: p.d.CategoryLabel(classify.Category(l.Category)), Kernel: l.Kernel, Layers: layers,
			Kernels: l.Kernels, Time: l.Time, Share: ratio(l.Time, p.wall[pass]),
			Floor: l.Floor, Bound: l.Bound, PeakShare: l.PeakShare})
	}
}

// addCosts takes over what the operators of a pass have to take. Operators that are copies alone have no cost of their
// own: the row of all copies of the pass has it.
func (r *Report) addCosts(rows []ReportOperator) error {
	for i := range r.light.Operators {
		l := &r.light.Operators[i]
		at := slices.IndexFunc(rows, func(x ReportOperator) bool {
			return x.LayerType == l.LayerType && x.Operator == l.Operator
		})
		switch {
		case l.LayerType == roofline.AllLayers:
		case at < 0:
			return fmt.Errorf("strata: cost of %s of %s, which the report lacks", l.Operator, l.LayerType)
		default:
			rows[at].Floor, rows[at].Bound, rows[at].PeakShare = l.Floor, l.Bound, l.PeakShare
		}
	}
	return nil
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

// layerType is the type of the layer at a place: from the config, else the
// layer's own type if it says more than its position.
func (p *reportPart) layerType(at layer.Place) string {
	if at.Layer < 0 {
		return outsideLayers
	}
	if c := p.config; c != nil && at.Layer < len(c.Layers) {
		return c.Layers[at.Layer].String()
	}
	t := p.types[layer.Place{Pass: at.Pass, Layer: at.Layer}]
	if t.IsPlace() {
		return onlyLayers
	}
	return string(t)
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
