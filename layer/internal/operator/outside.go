package operator

import (
	"regexp"
	"slices"

	"github.com/llmstrata/strata/internal/opname"
)

// Words of the classes of modules outside the layers, as transformers, vLLM, SGLang, TensorRT-LLM and diffusers name
// them.
var (
	// products with the vocabulary
	headWords     = []string{"LMHead", "PredictionHead", "LogitsProcessor", "GenerationHead", "SharedHead"}
	samplerWords  = []string{"Sampler"}
	embedderWords = []string{"Embedding"}
	// namelessWords are of modules for which the list of operators has no word: what is read off the last layer
	// instead of a vocabulary, what leads from one model into another, tables of positions and times.
	namelessWords = []string{"Pooler", "Pooling", "SequenceSummary", "Classifi", "RewardHead", "ValueHead",
		"Projector", "Projection", "Merger", "Resampler", "Connector", "Adapter", "Aligner", "PatchEmbed", "Rotary",
		"Timestep", "TimeText", "AdaLayerNorm"}
)

// headOps and samplerOps are what their modules run.
var (
	headOps    = []string{opname.LMHead, opname.LogitsGather, opname.FinalNorm}
	samplerOps = []string{opname.Sampling, opname.LogitsGather}
)

// owners say what a kernel outside the layers may be of, the first that a class has a word of; no ops: of no operator
// of the list.
var owners = []struct{ words, ops []string }{
	{namelessWords, []string{}}, {samplerWords, samplerOps}, {headWords, headOps},
	{embedderWords, []string{opname.Embed}},
}

// aroundLayers are the operators outside the layers that no module has for itself; a model that ends in a classifier
// has the first of them only.
var aroundLayers = []string{opname.Prepare, opname.Embed, opname.ResidualAdd, opname.FinalNorm, opname.LMHead,
	opname.LogitsGather}

const beforeHead = 4

// outsideLayers is what frames say of a kernel that runs outside the layers.
func outsideLayers(modules []string) hint {
	if len(modules) == 0 {
		return hint{outside: true}
	}
	for _, m := range slices.Backward(modules) {
		class := classOf(m)
		if isModel(class) {
			continue
		}
		for i := range owners {
			if hasAny(class, owners[i].words) {
				return hint{outside: true, ops: owners[i].ops}
			}
		}
	}
	if hasAny(classOf(modules[len(modules)-1]), []string{"Norm"}) {
		return hint{outside: true, ops: []string{opname.FinalNorm, opname.ResidualAdd}}
	}
	if slices.ContainsFunc(modules, func(m string) bool { return classifier.MatchString(m) }) {
		return hint{outside: true, loose: true, ops: aroundLayers[:beforeHead]}
	}
	return hint{outside: true, loose: true, ops: aroundLayers}
}

// classifier matches the classes of whole models whose last product is none with the vocabulary.
var classifier = regexp.MustCompile(`For\w*(?:Classification|QuestionAnswering|MultipleChoice|NextSentencePrediction|Reward|Scoring|Regression)|RewardModel`)

// model matches the classes of whole models: their words say nothing of the modules in them.
var model = regexp.MustCompile(`Model$|For[A-Z]`)

func isModel(class string) bool { return model.MatchString(class) }

// embedded gives what no step took to the embedding whose module runs it: sums of its tables, their norm.
func (w *work) embedded() {
	for i := range w.hints {
		if h := &w.hints[i]; h.outside && !w.placed[i] && !aux(w.reads[i].acts[0]) && len(h.ops) == 1 &&
			h.names(opname.Embed) {
			w.found[i], w.placed[i] = Found{Operator: opname.Embed, Evidence: Module, Confidence: w.p.ByModule,
				Layer: -1}, true
		}
	}
}

// strays are kernels outside the labels of layers that were given to a layer which has more of that operator than any
// other and one within its labels: a head or a prologue looks like part of a layer. They are kept out of the layers;
// it reports whether there are any.
func (w *work) strays() bool {
	type key struct {
		op    string
		layer int32
	}
	in, all := map[key]int{}, map[key]int{}
	for i := range w.found {
		if f := &w.found[i]; w.placed[i] && f.Layer >= 0 {
			k := key{lastOf(f.Operator), f.Layer}
			if all[k]++; w.pass.Kernels[i].Layer >= 0 {
				in[k]++
			}
		}
	}
	most := map[string]map[int]bool{} // by operator: how many some layer has within its labels
	for k, n := range in {
		if most[k.op] == nil {
			most[k.op] = map[int]bool{}
		}
		most[k.op][n] = true
	}
	first := slices.IndexFunc(w.pass.Kernels, func(k Kernel) bool { return k.Layer >= 0 }) // within the labels
	prologue, head := -1, len(w.found)
	var stray []int
	for i := range w.found {
		f := &w.found[i]
		k := key{lastOf(f.Operator), f.Layer}
		switch {
		case w.pass.Kernels[i].Layer >= 0:
			head = len(w.found)
		case !w.placed[i] || f.Layer < 0 || in[k] == 0 || most[k.op][all[k]]:
		case i < first:
			prologue = i
		default:
			head = min(head, i)
			stray = append(stray, i)
		}
	}
	for i := range prologue + 1 { // before a prologue's kernel is the prologue
		stray = append(stray, i)
	}
	for i := head; i < len(w.found); i++ { // after a head's kernel is the head
		stray = append(stray, i)
	}
	if w.hints == nil && len(stray) > 0 {
		w.hints = make([]hint, len(w.found))
	}
	for _, i := range stray {
		w.hints[i].outside = true
	}
	return len(stray) > 0
}
