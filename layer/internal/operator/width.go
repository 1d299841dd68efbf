package operator

import "github.com/llmstrata/strata/classify"

// Width bounds the output width of a product: Over < N ≤ Upto. The zero value says nothing.
type Width struct{ Over, Upto int }

// known reports bounds that say something.
func (w Width) known() bool { return w.Upto > w.Over }

func (w Width) fits(n int) bool { return n > w.Over && n <= w.Upto }

// WidthOf reads the output width off the tile of a product's kernel and the number of blocks it ran, with so many
// rows of input. Rows that are not known say nothing, for blocks are tiles of both sides.
func WidthOf(how classify.Blocks, grid, block [3]int64, rows int64) Width {
	blocks := grid[0] * grid[1] * grid[2]
	switch {
	case blocks <= 0 || blocks > maxBlocks:
		return Width{}
	case how.PerThread && (block[0] <= 1 || block[1] <= 1):
		return Width{}
	case how.PerThread:
		return Width{int((grid[0] - 1) * block[0]), int(grid[0] * block[0])}
	case how.Tile[0] == 0 || rows <= 0:
		return Width{}
	}
	height, clusterWidth, clusterHeight := int64(how.Tile[1]), int64(how.Cluster[0]), int64(how.Cluster[1])
	down := (rows + height - 1) / height
	down = (down + clusterHeight - 1) / clusterHeight * clusterHeight // clusters are whole
	if blocks%down != 0 {
		return Width{}
	}
	across := blocks / down
	return Width{int(max(0, across-clusterWidth) * int64(how.Tile[0])), int(across * int64(how.Tile[0]))}
}

// maxBlocks is more than a product of any model runs; what is beyond is damage.
const maxBlocks = 1 << 31

// divide finds by how many ranks the widths of the pass's products are divided, so that most of them are widths of
// the plan. 0: no division explains enough of them, and grids show nothing.
func (w *work) divide() {
	seen := map[Width]bool{}
	for i := range w.pass.Kernels {
		if k := &w.pass.Kernels[i]; k.Width.known() && w.reads[i].acts[0] == classify.RoleProduct {
			seen[k.Width] = true
		}
	}
	if len(seen) == 0 || !w.layout.Given {
		return
	}
	best := 0
	for d := 1; d <= maxRanks; d *= 2 {
		n := 0
		for width := range seen {
			if w.planned(width, d) {
				n++
			}
		}
		if n > best {
			best, w.ranks = n, d
		}
	}
	if float64(best) < w.p.Grids*float64(len(seen)) {
		w.ranks = 0
	}
}

// planned reports that a product of the plan has this width.
func (w *work) planned(width Width, ranks int) bool {
	lists := append([][]Step{w.layout.Before, w.layout.After}, w.layout.Kinds...)
	for _, list := range lists {
		for i := range list {
			if anyWidth(&list[i], width, ranks) {
				return true
			}
		}
	}
	return false
}

// anyWidth reports that a step, or one that may run instead, has the width.
func anyWidth(s *Step, width Width, ranks int) bool {
	for i := range s.Or {
		if anyWidth(&s.Or[i], width, ranks) {
			return true
		}
	}
	return s.width(ranks, width)
}

// width reports that the step's product has the width on one of so many ranks.
func (s *Step) width(ranks int, width Width) bool {
	n := s.Width
	if s.Divided {
		if n%ranks != 0 {
			return false
		}
		n /= ranks
	}
	return n > 0 && width.fits(n)
}

// tellsAlone reports that a unit's width is a step's, and that of no other operator of its layer.
func (w *work) tellsAlone(u *unit, steps []step, at int) bool {
	if w.ranks == 0 || !u.width.known() || !steps[at].Step.width(w.ranks, u.width) {
		return false
	}
	for _, by := range []int{-1, 1} {
		for i := at + by; i >= 0 && i < len(steps) && steps[i].layer == steps[at].layer; i += by {
			if steps[i].Op != steps[at].Op && steps[i].Step.width(w.ranks, u.width) {
				return false
			}
		}
	}
	return true
}
