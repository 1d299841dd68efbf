package roofline

import (
	"fmt"
	"slices"
	"strings"

	"github.com/llmstrata/strata/profile"
)

// likely names the public models that have the sizes of the recording: layers of a full pass, and the embedding that
// an op looked rows up in. No floor rests on them: where an embedding was recorded, so were the products, whose sizes
// give better floors than a model that is only taken to be the one. A user who confirms a model gets those of its
// graph replays, too.
func (w *walk) likely() []string {
	if w.ops == nil {
		return nil
	}
	var fit []string
	for key := range w.ops.inputs {
		if row := w.ops.table.find(key.op); row == nil || !row.embeds {
			continue
		}
		if sizes := ReadInputs(key.dims, "", "", "").Dim(0); len(sizes) == 2 {
			for _, m := range profile.Like(w.plan.Kinds[0].Layers, int(sizes[0]), int(sizes[1])) {
				fit = append(fit, m.String())
			}
		}
	}
	slices.Sort(fit) // the order of a map is not one
	fit = slices.Compact(fit)
	switch len(fit) {
	case 0:
		return nil
	case 1:
		name, _, _ := strings.Cut(fit[0], " ")
		return []string{fmt.Sprintf("this looks like %s; if it is, pass --config %s", fit[0], name)}
	}
	return []string{"the sizes are those of " + strings.Join(fit, " or ") + "; --config NAME says which it is"}
}
