package ladder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/llmstrata/strata/layer/internal/segment"
)

// letterNames are the kernels of a dense model by letters; any other letter is a kernel of that name.
var letterNames = map[rune]string{
	'e': splitNames['e'], 's': splitNames['s'], 'n': "rms_norm_kernel", 'q': "nvjet_qkv", 'm': "flash_fwd_kernel",
	'o': "nvjet_o", 'g': "nvjet_gate", 'a': "silu_and_mul_kernel", 'd': "nvjet_down", 'h': "nvjet_head",
	'C': "cudnn::cnn::conv2d_grouped_direct_kernel",
	't': "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
}

// letterLayer is a layer of that model.
const letterLayer = "nqmongad"

// workOfLetters collects kernels of a letter each, launched one by one, or by the graph launch that graphs has a
// digit for.
func workOfLetters(kernels, graphs string) (*Work, []int32) {
	runs := make([]run, len(kernels))
	for i, k := range kernels {
		name := letterNames[k]
		if name == "" {
			name = "kernel_" + string(k)
		}
		runs[i] = run{name, 7, int64(10 * i), 5, int64(10 * i), 0, 0}
		if graphs != "" && graphs[i] != '-' {
			runs[i].graph = uint64(graphs[i] - '0')
			runs[i].launch = int64(10 * strings.IndexByte(graphs, graphs[i]))
		}
	}
	return workOfRuns(runs...)
}

// TestMarksOfPasses: embedding and sampling kernels mark passes, an embedding whichever model runs; where there are
// neither, transfers and names that occur once a pass may, which must hold two passes.
func TestMarksOfPasses(t *testing.T) {
	filled := strings.Repeat("x", 8)
	for kernels, want := range map[string]string{
		"xxexxx":                        "embedding kernels [2], 1 exact",
		"xxsxxx":                        "sampling kernels [2], 1",
		"exxxsxxx":                      "embedding kernels [0], 1 exact; sampling kernels [4], 1",
		"xextxx":                        "embedding kernels [1], 1 exact",
		"etxsxtx":                       "embedding kernels [0], 1 exact; sampling kernels [3], 1",
		"xtxxxx":                        "transfers between pipeline ranks [1], 2",
		"abc" + filled + "abc" + filled: "names that occur once a pass [0 11], 2",
		"tabc" + filled + "tabc" + filled: "transfers between pipeline ranks [0 12], 2; names that occur once a pass [0 " +
			"12], 2",
		filled: "",
		"":     "",
	} {
		w, all := workOfLetters(kernels, "")
		var got []string
		for _, m := range w.markCandidates(w.sequenceOf(all)) {
			says := fmt.Sprintf("%s %v, %d", m.what, m.pos, m.need)
			if m.exact {
				says += " exact"
			}
			got = append(got, says)
		}
		if got := strings.Join(got, "; "); got != want {
			t.Errorf("%s: %s, want %s", kernels, got, want)
		}
	}
}

// TestStacksBetweenMarks: the layers in each piece, what lies between two marks, and the number of layers of most
// kernels in layers.
func TestStacksBetweenMarks(t *testing.T) {
	stack := func(n int) string { return strings.Repeat(letterLayer, n) }
	pass := "e" + stack(4) + "hs" // 35 kernels
	for _, c := range []struct {
		name, kernels string
		pos           []int
		given         int
		want          string
	}{
		{"one", pass, []int{0}, 0, "[[0 35]] [[1 33]] [4], 4 layers map[4:1], inner 0 of 0 map[], all map[4:35]"},
		{"one that is asked for", pass, []int{0}, 4,
			"[[0 35]] [[1 33]] [4], 4 layers map[4:1], inner 0 of 0 map[], all map[4:35]"},
		{"in front of the first mark", "hs" + pass, []int{2}, 0,
			"[[0 2] [2 37]] [[0 0] [3 35]] [0 4], 4 layers map[4:1], inner 0 of 0 map[], all map[4:35]"},
		{"two", pass + pass, []int{0, 35}, 0, "[[0 35] [35 70]] [[1 33] [36 68]] [4 4], 4 layers map[4:2], inner 1 of 35 map[4:35], all map[4:70]"},
		{"without layers between", pass + "exxhs" + pass, []int{0, 35, 40}, 0,
			"[[0 35] [35 40] [40 75]] [[1 33] [35 35] [41 73]] [4 0 4], 4 layers map[4:2], inner 2 of 40 map[4:35], all map[4:70]"},
		{"most kernels in no layer", pass + "e" + strings.Repeat("x", 40), []int{0, 35}, 0,
			"[[0 35] [35 76]] [[1 33] [35 35]] [4 0], 4 layers map[4:1], inner 1 of 35 map[4:35], all map[4:35]"},
		{"most kernels in no layer, between marks, too", pass + "e" + strings.Repeat("x", 40) + "exx", []int{0, 35, 76},
			0, "[[0 35] [35 76] [76 79]] [[1 33] [35 35] [76 76]] [4 0 0], 4 layers map[4:1], inner 2 of 76 map[4:35], all map[4:35]"},
		{"more layers in more passes than kernels", "e" + stack(4) + "e" + stack(4) + "e" + stack(12), []int{0, 33, 66},
			0, "[[0 33] [33 66] [66 163]] [[1 33] [34 66] [67 163]] [4 4 12], 12 layers map[4:2 12:1], inner 2 of 66 map[4:66], all map[4:66 12:97]"},
	} {
		w, all := workOfLetters(c.kernels, "")
		var memo segment.Memo[segment.Stack]
		b := w.cutAtMarks(w.sequenceOf(all), c.pos, &memo, c.given)
		got := fmt.Sprintf("%v %v %v, %d layers %v, inner %d of %d %v, all %v", b.bounds, b.spans, b.ns, b.n, b.votes,
			b.inner, b.innerKernels, b.covered, b.all)
		if got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
}

// TestPiecesTakeTheOthersLayers: a piece whose layers were counted otherwise may have as many as the others; one
// without mixers does where its layers are alike.
func TestPiecesTakeTheOthersLayers(t *testing.T) {
	for _, c := range []struct {
		name, kernels string
		found, want   int
	}{
		{"counted otherwise", strings.Repeat(letterLayer, 4), 2, 4},
		{"as the others", strings.Repeat(letterLayer, 4), 4, 4},
		{"alike, without mixers", "e" + strings.Repeat("nqogad", 4) + "hs", 0, 4},
		{"of two kinds, without mixers", "e" + strings.Repeat("nqogadnqojkl", 2) + "hs", 0, 0},
		{"nothing that repeats", "eabcdhs", 0, 0},
	} {
		w, all := workOfLetters(c.kernels, "")
		s := w.sequenceOf(all)
		b := &pieces{bounds: [][2]int{{0, s.Len()}}, spans: make([][2]int, 1), ns: []int{c.found}, n: 4,
			votes: map[int]int{}}
		if b.adopt(s); b.ns[0] != c.want {
			t.Errorf("%s: %d layers, want %d", c.name, b.ns[0], c.want)
		}
	}
}

// TestPassesFromMarks: marks make passes where enough pieces hold the layers; they are graph replays where graph
// launches ran more than half of the passes.
func TestPassesFromMarks(t *testing.T) {
	stack := strings.Repeat(letterLayer, 4)
	pass, replay := "e"+stack+"hs", strings.Repeat("x", 35)
	idle := "e" + strings.Repeat("nqogad", 4) + "hs"
	names := func(passes int) string { return strings.Repeat("ijk"+stack, passes) }
	for _, c := range []struct {
		name, kernels, graphs string
		layers                int
		want                  string
	}{
		{"one", pass, "", 0, "structure: embedding kernels mark 1 stack of layers"},
		{"two", pass + pass, "", 0, "structure: embedding kernels mark 2 stacks of layers"},
		{"asked for", pass + pass, "", 4, "structure: embedding kernels mark 2 stacks of layers"},
		{"none of as many as asked for", pass + pass, "", 13, ""},
		{"sampling", stack + "hs", "", 0, "structure: sampling kernels mark 1 stack of layers"},
		{"names in two passes", names(2), "", 0, "structure: names that occur once a pass mark 2 stacks of layers"},
		{"names in each layer", strings.Repeat("ijk"+letterLayer+letterLayer, 8), "", 0, ""},
		{"names, one stack", "ijk" + stack + "ijk" + strings.Repeat("xyz", 9), "", 0, ""},
		{"transfers in two passes", "t" + stack + "t" + stack, "", 0,
			"structure: transfers between pipeline ranks mark 2 stacks of layers"},
		{"transfers, one stack", "t" + stack, "", 0, ""},
		{"an idle one", pass + pass + idle, "", 0, "structure: embedding kernels mark 3 stacks of layers"},
		{"one of two is a replay", pass + pass, strings.Repeat("-", 35) + strings.ReplaceAll(replay, "x", "1"), 0,
			"structure: embedding kernels mark 2 stacks of layers"},
		{"two of three are", pass + pass + pass, strings.Repeat("-", 35) + strings.ReplaceAll(replay, "x", "1") +
			strings.ReplaceAll(replay, "x", "2"), 0, "graph: embedding kernels mark 3 stacks of layers"},
		{"no kernels", "", "", 0, ""},
	} {
		w, all := workOfLetters(c.kernels, c.graphs)
		passes, ev := w.passesFromMarks(all, &Model{Layers: c.layers})
		got := ""
		if len(passes) > 0 {
			got = string(ev.Kind) + ": " + ev.Detail
		}
		if got != c.want || got != "" && (len(passes) != ev.Passes || passes[0].Evidence != ev.Kind ||
			passes[0].Conf != ev.Confidence) {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}
