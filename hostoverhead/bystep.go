package hostoverhead

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/llmstrata/strata/hostoverhead/internal/names"
	"github.com/llmstrata/strata/layer"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

// DeviceIdle is the idle time of one device by step and cause, and for each cause the name that most of it is in.
type DeviceIdle struct {
	Device trace.DeviceID
	// Steps are those with kernels, in order of time. Names has one row a cause.
	Steps []StepIdle
	Names []IdleName
}

// StepIdle is the idle time of one step in nanoseconds, by cause. Pass is the index of the forward pass.
type StepIdle struct {
	Pass int
	Idle [finding.NumCauses]int64
}

// IdleBySteps says for every device of a trace what the idle time of each of its steps goes to: the ledger of [Analyze],
// without a verdict. It returns nothing for a trace without kernels, and ctx's error when cancelled.
func IdleBySteps(ctx context.Context, a *layer.Analysis) ([]DeviceIdle, error) {
	w, list, err := accountsOf(ctx, a, &Options{}, false)
	if errors.Is(err, names.ErrNoKernels) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make([]DeviceIdle, len(list))
	for i, acc := range list {
		d := DeviceIdle{Device: w.devices[i].id}
		for _, s := range acc.steps {
			if s.step != nil {
				d.Steps = append(d.Steps, StepIdle{s.step.Index, s.idle})
			}
		}
		most := map[finding.Cause]IdleName{}
		for _, c := range acc.idleCauses(0) {
			for _, n := range c.Names {
				if old, ok := most[c.Cause]; !ok || n.StepsNS > old.StepsNS {
					n.Cause = c.Cause
					most[c.Cause] = n
				}
			}
		}
		for _, n := range most {
			d.Names = append(d.Names, n)
		}
		slices.SortFunc(d.Names, func(x, y IdleName) int { return cmp.Compare(x.Cause, y.Cause) })
		out[i] = d
	}
	return out, nil
}
