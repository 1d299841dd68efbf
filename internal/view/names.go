package view

import (
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer"
)

// shown returns what tables call each of some kernels: the word that the profile has for it, else its short label.
// Different names have different labels.
func shown(a *layer.Device, names []string) map[string]string {
	p := a.Analysis().Profile
	out := make(map[string]string, len(names))
	for i, label := range classify.Labels(names, nil) {
		out[names[i]] = label
		for _, r := range p.Renames {
			if r.Old != "" && strings.Contains(names[i], r.Old) {
				out[names[i]] = p.DisplayName(names[i])
				break
			}
		}
	}
	return out
}

// nameRows sets the labels of rows.
func nameRows(a *layer.Device, rows []KernelRow) {
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = rows[i].Name
	}
	labels := shown(a, names)
	for i := range rows {
		rows[i].Label = labels[rows[i].Name]
	}
}
