package profile

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"path"
	"strings"
	"sync"

	"github.com/goccy/go-json"
)

// KnownModel is a public model whose sizes are built in.
type KnownModel struct {
	// Name is what --config takes: "llama-3.1-70b".
	Name string
	// Also are models of the same sizes, which --config takes as well: "deepseek-r1-distill-llama-70b".
	Also []string
	// Source is where the figures were read.
	Source string
	// Config is the model's. It is shared: change none of it.
	Config *Config
}

// String says which model it is, with the sizes that identify it: "llama-3.1-70b (80 layers, hidden size
// 8192, vocabulary 128256)".
func (m *KnownModel) String() string {
	c := cmp.Or(m.Config, &Config{})
	return fmt.Sprintf("%s (%d layers, hidden size %d, vocabulary %d)", m.Name, c.NumLayers, c.HiddenSize, c.VocabSize)
}

//go:embed known.json
var knownJSON []byte

var knownModels = sync.OnceValues(func() ([]KnownModel, error) {
	var rows []struct {
		Name, Source string
		Also         []string
		Config       json.RawMessage
	}
	if err := json.Unmarshal(knownJSON, &rows); err != nil {
		return nil, err
	}
	all := make([]KnownModel, len(rows))
	for i, r := range rows {
		c, err := ParseConfig(bytes.NewReader(r.Config))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", r.Name, err)
		}
		c.NameOrPath = r.Name
		all[i] = KnownModel{r.Name, r.Also, r.Source, c}
	}
	return all, nil
})

// Known returns the public models whose sizes are built in, by name.
func Known() ([]KnownModel, error) { return knownModels() }

// ResolveConfig turns what a user gave as a model into its config: a config.json, the
// directory of one, or the name of a model of [Known], with or without its organisation
// ("Qwen/Qwen3-8B"). A file of that name wins, and more than that is the path of one. The
// error names the model that was meant, or lists all, where there is neither.
func ResolveConfig(nameOrPath string) (*Config, error) {
	_, err := os.Stat(nameOrPath)
	if err == nil || strings.Contains(nameOrPath, `\`) || strings.HasSuffix(nameOrPath, ".json") ||
		strings.HasPrefix(nameOrPath, ".") || path.IsAbs(nameOrPath) || strings.Count(nameOrPath, "/") > 1 {
		return LoadConfig(nameOrPath)
	}
	all, err := Known()
	if err != nil {
		return nil, err
	}
	name := path.Base(nameOrPath)
	var names []string
	for i := range all {
		for _, n := range all[i].names() {
			if reduced(n) == reduced(name) {
				c := *all[i].Config
				c.Path = all[i].Source
				return &c, nil
			}
		}
		names = append(names, all[i].Name)
	}
	if meant, ok := longestIn(name, func(*KnownModel) bool { return true }); ok {
		return nil, fmt.Errorf("config: %q is no file and no known model; %s is known", nameOrPath, meant.Name)
	}
	return nil, fmt.Errorf("config: %q is no file and no known model; known are %s", nameOrPath,
		strings.Join(names, ", "))
}

// names are those that --config takes for a model.
func (m *KnownModel) names() []string { return append([]string{m.Name}, m.Also...) }

// Like returns the known models of this size: layers of a complete pass, and the vocabulary and hidden size
// of the embedding, which several GPUs may divide by rows. A size that is 0 fits none: a model is
// not recognised by some of its sizes.
func Like(layers, vocabulary, hidden int) []KnownModel {
	all, err := Known()
	if err != nil || layers <= 0 || vocabulary <= 0 || hidden <= 0 {
		return nil
	}
	var fit []KnownModel
	for _, m := range all {
		c := m.Config
		if c.NumLayers != layers || c.HiddenSize != hidden {
			continue
		}
		padded := (c.VocabSize + vocabPadding - 1) / vocabPadding * vocabPadding
		for parts := 1; parts <= mostParts; parts *= 2 {
			if vocabulary*parts == padded || vocabulary == (c.VocabSize+parts-1)/parts {
				fit = append(fit, m)
				break
			}
		}
	}
	return fit
}

// NamedIn returns the known model of so many layers whose name is in a path, under the longest such name; false where
// there is none.
func NamedIn(path string, layers int) (KnownModel, bool) {
	return longestIn(path, func(m *KnownModel) bool { return m.Config.NumLayers == layers })
}

// longestIn returns the model whose name is in a text, of those that fit, under the longest such name.
func longestIn(text string, fits func(*KnownModel) bool) (named KnownModel, ok bool) {
	all, err := Known()
	if err != nil {
		return KnownModel{}, false
	}
	at := reduced(text)
	for i := range all {
		if !fits(&all[i]) {
			continue
		}
		for _, n := range all[i].names() {
			if len(n) > len(named.Name) && strings.Contains(at, reduced(n)) {
				named, ok = all[i], true
				named.Name = n
			}
		}
	}
	return named, ok
}

// How servers divide an embedding: over the GPUs of a node or two, its rows first padded to a multiple of 64 (vLLM's
// DEFAULT_VOCAB_PADDING_SIZE, and SGLang's).
const (
	mostParts    = 16
	vocabPadding = 64
)
