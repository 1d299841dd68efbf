package layer

import (
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/layer/internal/ladder"
	"github.com/llmstrata/strata/layer/internal/launches"
	"github.com/llmstrata/strata/trace"
)

// What the tokens and the stage of a pass were read from.
const (
	tokensAnnotated = "annotation"
	tokensOfGrids   = "grids"
)

// minFamilies is how many families of kernels must agree on a number of tokens: one agrees with itself over all layers and can be
// wrong in all of them (FlashInfer's norm shows 4 and 8 blocks for 16 tokens).
const minFamilies = 2

// What the stage of a pass was read from.
const (
	stageAnnotated  = "annotation"
	stageOfKernels  = "kernels" // which only decode, or draft, or leave attention out
	stageOfLaunches = "launches"
)

// countTokens completes what annotations say of tokens and stages by what the kernels show: those that run a block for each token,
// and attention that exists for one token a request only. What is not certain stays unknown.
func (w *work) countTokens(a *Device, results []ladder.Result) {
	sizes := map[string][3]int64{} // by launch configuration
	for p := range results {
		if w.Ended() != nil {
			return
		}
		fp, r := &a.Passes[p], &results[p]
		if fp.Tokens >= 0 {
			fp.TokenEvidence = tokensAnnotated
		}
		rows, real := w.rowsOf(r, sizes)
		fp.Rows = rows
		if fp.Tokens < 0 && real && len(r.Second) == 0 {
			fp.Tokens, fp.TokenEvidence = rows, tokensOfGrids
		}
		if st := r.Step; fp.Stage != StageUnknown && st != nil && Stage(st.Stage) == fp.Stage {
			fp.StageEvidence = stageAnnotated
		} else if fp.Stage != StageUnknown { // a draft model, a rank without requests
			fp.StageEvidence = stageOfKernels
		} else if w.oneQuery(r) || fp.TokenEvidence == tokensOfGrids && fp.Tokens == 1 {
			fp.Stage, fp.StageEvidence = StageDecode, stageOfKernels
		}
		if fp.Stage == StageDecode && fp.Batch < 0 && fp.TokenEvidence == tokensOfGrids {
			fp.Batch = int(fp.Tokens)
		}
	}
	w.stagesOfLaunches(a, results)
}

// stagesOfLaunches gives stages to the whole passes whose kernels tell none, by how they are launched.
func (w *work) stagesOfLaunches(a *Device, results []ladder.Result) {
	passes := make([]launches.Pass, len(results))
	for p := range results {
		fp, r := &a.Passes[p], &results[p]
		usable := fp.Partial == whole && fp.NumLayers > 0 && len(r.Second) == 0
		passes[p] = launches.Pass{Model: r.Model, Layers: fp.NumLayers, Kernels: fp.Kernels, Replayed: fp.Replay, Known: !usable || fp.Stage != StageUnknown,
			Decodes: usable && fp.Stage == StageDecode, Work: w.times[p].layers}
		for k, i := range r.Kernels {
			if r.Layer[k] != trace.None && w.Facts[w.ID[i]].Role == classify.RoleCacheWrite {
				passes[p].Generates = true
				break
			}
		}
	}
	for p, stage := range launches.Stages(passes) {
		if stage != launches.Unknown {
			a.Passes[p].Stage, a.Passes[p].StageEvidence = map[launches.Stage]Stage{launches.Decode: StageDecode, launches.Prefill: StagePrefill}[stage], stageOfLaunches
		}
	}
}

// familySize is the number of tokens that the kernels of a family show.
type familySize struct {
	n      int64
	grid   classify.TokenGrid
	replay bool // one of them was replayed
	bad    bool // they do not agree
}

// rowsOf returns the rows that the kernels of a pass ran, −1 where that is not certain. real says that they are tokens: a graph runs
// the rows it was captured with, and kernels that were launched may be given padding, but for those that write the cache.
func (w *work) rowsOf(r *ladder.Result, sizes map[string][3]int64) (rows int64, real bool) {
	var families []familySize
	experts := false
	for k, i := range r.Kernels {
		if r.Layer[k] == trace.None {
			continue
		}
		f := &w.Facts[w.ID[i]]
		experts = experts || f.Role == classify.RoleRouter || f.Role == classify.RoleExperts
		if f.Tokens.Family == "" {
			continue
		}
		config := w.Act(i).Shape()
		if config == "" {
			continue // a replay on AMD
		}
		size, ok := sizes[config]
		if !ok {
			size = gridOf(config)
			sizes[config] = size
		}
		families = addFamily(families, f.Tokens, size[f.Tokens.Axis], w.Replayed(i))
	}
	return agreed(families, experts)
}

// agreed returns the rows on which two families agree and no other contradicts. A cache write of fewer rows does not: it leaves padding
// out; but then one family alone tells the tokens.
func agreed(families []familySize, experts bool) (rows int64, real bool) {
	count := 0
	rows = -1
	for _, cacheWrites := range []bool{false, true} {
		for _, f := range families {
			if f.grid.Real != cacheWrites || f.grid.Dense && experts {
				continue
			}
			switch {
			case f.bad || f.n <= 0:
				return -1, false
			case rows < 0 || f.n == rows:
				rows, real = f.n, real || f.grid.Real && !f.replay
				count++
			case !f.grid.Real || f.n > rows:
				return -1, false
			}
		}
	}
	if count < minFamilies {
		return -1, false
	}
	return rows, real
}

// addFamily notes what one kernel shows.
func addFamily(families []familySize, g classify.TokenGrid, n int64, replay bool) []familySize {
	for i := range families {
		if f := &families[i]; f.grid.Family == g.Family {
			f.bad = f.bad || f.n != n
			f.replay = f.replay || replay
			return families
		}
	}
	return append(families, familySize{n: n, grid: g, replay: replay})
}

// gridOf reads the grid of a launch configuration, "gx,gy,gz|bx,by,bz"; what is missing is 0.
func gridOf(config string) (size [3]int64) {
	grid, _, _ := strings.Cut(config, "|")
	for i, s := range strings.SplitN(grid, ",", len(size)) {
		n, err := strconv.ParseInt(s, 10, 64)
		if err != nil {
			return [3]int64{}
		}
		size[i] = n
	}
	return size
}

// oneQuery says that the pass decodes: attention of one token a request runs, and nothing else mixes tokens in those layers. Attention
// for prompts beside it, in a batch of both, would be such a kernel.
func (w *work) oneQuery(r *ladder.Result) bool {
	one, other := make([]bool, r.Count), make([]bool, r.Count) // by layer
	for k, i := range r.Kernels {
		l := int(r.Layer[k])
		if l == trace.None {
			continue
		}
		switch f := &w.Facts[w.ID[i]]; {
		case f.OneQuery:
			one[l-r.First] = true
		case w.RoleOf(i) == ladder.RoleMixer:
			other[l-r.First] = true
		}
	}
	for l := range one {
		if one[l] && other[l] {
			return false
		}
	}
	return slices.Contains(one, true)
}
