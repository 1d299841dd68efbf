package layer

import (
	"fmt"

	"github.com/llmstrata/strata/internal/table"
)

// minMappingShare is how many of the replayed kernels must find one of the same name, tile variants apart, in the same place of
// the mapping trace, for it to be of the same model. A prefill explains a decode to four fifths and more: attention differs, and
// products may be tuned otherwise; another model of the same server shares single kernels, and their order less.
const minMappingShare = 0.6

// foreignMapping says why the mapping trace cannot be of the same model and GPU, "" when it may be.
func (a *Device) foreignMapping() string {
	m := a.of.opts.Mapping
	if m == nil || a.of.opts.ForceMapping || len(m.Devices) == 0 {
		return ""
	}
	d := &m.Devices[0]
	switch {
	case a.GPU != "" && d.GPU != "" && a.GPU != d.GPU:
		return fmt.Sprintf("it ran on %s, this trace on %s: kernels differ", table.Clean(d.GPU), table.Clean(a.GPU))
	case a.NumLayers > 0 && d.NumLayers > 0 && a.NumLayers != d.NumLayers && len(d.Passes) > 0 && d.Passes[0].Partial == Whole:
		return fmt.Sprintf("its model has %d layers, this one %d", d.NumLayers, a.NumLayers)
	}
	return ""
}

// unlikeMapping says why the mapping trace is of another model by the kernels that found a twin there, "" when it is not.
func (a *Device) unlikeMapping(of []int32, twins []Twin) string {
	if m := a.of.opts.Mapping; m == nil || a.of.opts.ForceMapping {
		return ""
	}
	all, same := 0, 0
	for i, t := range of {
		if a.columns.layer[i] == None || a.eager(int32(i)) {
			continue
		}
		all++
		if h := twins[t].How; h == HowName || h == HowVariant || h != HowNone && !twins[t].Kernel.Valid() {
			same++ // a capture may record no names
		}
	}
	if all == 0 || float64(same) >= minMappingShare*float64(all) {
		return ""
	}
	return fmt.Sprintf("only %d of %d replayed kernels have one of the same name in the same place of it: kernel sequences do not match", same, all)
}
