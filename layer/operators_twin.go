package layer

import (
	"context"

	"github.com/llmstrata/strata/internal/opname"
	"github.com/llmstrata/strata/layer/internal/operator"
)

// adoptOperators gives the kernels of replays the operators of their twins in [Options.Mapping] where module frames
// gave those: a kernel of the same name in the same place of a layer is of the same module.
func (d *Device) adoptOperators(ctx context.Context) error {
	m := d.of.opts.Mapping
	if m == nil || len(m.Devices) == 0 || d.columns.operator == nil {
		return nil
	}
	if err := d.Align(ctx); err != nil {
		return err
	}
	rows := map[opRow]uint16{}
	for i, r := range d.operators {
		rows[r] = uint16(i)
	}
	for i, at := range d.twins.of {
		t := &d.twins.table[at]
		if t.How != HowName && t.How != HowVariant || !t.Kernel.Valid() {
			continue
		}
		from := &m.Devices[0]
		k, ok := from.columns.kernelOf(t.Kernel.ID())
		if !ok {
			continue
		}
		row := *Kernel{from, int32(k)}.opRow()
		if row.evidence != operator.Module || row.name == opname.Other {
			continue
		}
		row.confidence *= float32(t.Confidence)
		if id := d.row(row, rows); id != 0 {
			d.columns.operator[i] = id
		}
	}
	return nil
}
