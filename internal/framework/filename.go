package framework

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The documents that lie beside traces and models.
const (
	ServerArgsFile = "server_args.json" // what a server was launched with
	ConfigFile     = "config.json"      // of a model
	MetadataFile   = "metadata.json"    // of a recording
)

// FileName is what the path of a trace says about it. It is the weakest
// evidence there is: files are renamed, and a label may be meant otherwise.
type FileName struct {
	// Rank is −1 where no label is found.
	Rank int
	// Label is the word that gave the rank, [LabelRank] or "tp", "" where none did.
	Label string
	// Stage is one of the stages of this package, "" where the path names none.
	Stage string
	// Merged says that several ranks are joined, as SGLang's merge_profiles does, Partial that the file is being written.
	Merged, Partial bool
}

// merged begins the name of a file of several ranks.
var merged = regexp.MustCompile(`^merged[-_]`)

// partial ends the name of a file that is being written.
const partial = ".tmp"

// LabelRank is the label of a rank among all of a run.
const LabelRank = "rank"

// ReadFileName reads the rank in the file's name, as the first framework whose
// label is found has it, or the name of its directory, such as rank3, and the
// stage in the file's name or, where that names none, in the name of a directory above it.
func ReadFileName(list []Framework, file string) FileName {
	file = strings.ReplaceAll(file, `\`, "/")
	out := FileName{Rank: -1, Stage: stageInPath(file), Merged: merged.MatchString(path.Base(file)),
		Partial: strings.HasSuffix(file, partial)}
	for _, word := range rankLabels(list) {
		if n, ok := Label(file, word); ok {
			out.Rank, out.Label = n, word
			return out
		}
	}
	if dir := path.Base(path.Dir(file)); rankDir.MatchString(dir) {
		out.Rank, _ = Label(dir, LabelRank)
		out.Label = LabelRank
	}
	return out
}

// rankLabels are the labels of all frameworks, each once: the first ones of
// all before the second ones, because frameworks share the label that says
// most.
func rankLabels(list []Framework) []string {
	var out []string
	seen := map[string]bool{}
	for i, more := 0, true; more; i++ {
		more = false
		for _, f := range list {
			if i >= len(f.RankLabels) {
				continue
			}
			more = true
			if w := f.RankLabels[i]; !seen[w] {
				seen[w] = true
				out = append(out, w)
			}
		}
	}
	return out
}

// labels are the expressions of [Label] by word.
var labels sync.Map

// Label returns the number after a word in the last part of a path: "TP-0",
// "tp0" and "x_tp_0.json" have 0 for "tp". A letter or digit before the word
// makes it part of another: "http1" has no "tp".
func Label(file, word string) (int, bool) {
	re, ok := labels.Load(word)
	if !ok {
		re, _ = labels.LoadOrStore(word, regexp.MustCompile(`(?i)(?:^|[^a-z0-9])`+regexp.QuoteMeta(word)+
			`[-_]?(\d{1,6})(?:\D|$)`))
	}
	m := re.(*regexp.Regexp).FindStringSubmatch(path.Base(file))
	if m == nil {
		return 0, false
	}
	n, err := strconv.Atoi(m[1])
	return n, err == nil
}

var (
	stageInName = regexp.MustCompile(`(?i)(?:[-_.]|^)(extend|prefill|decode)(?:[-_.]|$)`)
	stageDir    = regexp.MustCompile(`(?i)^(extend|prefill|decode)$`)
	rankDir     = regexp.MustCompile(`(?i)^rank[-_]?\d{1,6}$`)
)

// stageInPath returns the stage in a file's name after a dash, underscore or
// dot, the last one, or the name of the nearest directory that is a stage's.
func stageInPath(file string) string {
	dir, base := path.Split(file)
	if m := stageInName.FindAllStringSubmatch(base, -1); m != nil {
		return StageNamed(m[len(m)-1][1])
	}
	for _, part := range slices.Backward(strings.Split(dir, "/")) {
		if stageDir.MatchString(part) {
			return StageNamed(part)
		}
	}
	return ""
}

// rankInEnding is the ending of a trace whose writer put the rank before the
// last dot of a name with two: TensorRT-LLM's splitext of trace.json.gz.
var rankInEnding = regexp.MustCompile(`(?i)((?:\.pt)?(?:\.trace)?\.json)(-rank-\d{1,6})(\.gz|\.zst)$`)

// PlainName returns a file's name with the rank before its whole ending:
// trace.json-rank-0.gz is trace-rank-0.json.gz. Other names come back as they
// are.
func PlainName(base string) string { return rankInEnding.ReplaceAllString(base, "$2$1$3") }

// Packings end the names of compressed files.
func Packings() []string { return []string{".gz", ".zst", ".bz2", ".zip"} }

// Packed reports whether a file's name is that of a compressed file or an archive.
func Packed(name string) bool {
	bare := BareName(name)
	return bare != strings.ToLower(name) || Ends(bare, []string{".tar", ".tgz"})
}

// BareName is a file's name in lower case without the endings of compression
// and of files that are still being written.
func BareName(name string) string {
	name = PlainName(strings.TrimSuffix(strings.ToLower(name), partial))
	for _, p := range Packings() {
		if s, ok := strings.CutSuffix(name, p); ok {
			return s
		}
	}
	return name
}

// Ends reports whether a file's bare name ends with one of the suffixes.
func Ends(name string, suffixes []string) bool {
	name = BareName(name)
	return slices.ContainsFunc(suffixes, func(s string) bool { return strings.HasSuffix(name, s) })
}
