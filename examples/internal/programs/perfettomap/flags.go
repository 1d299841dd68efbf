package perfettomap

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/llmstrata/strata/perfetto"
)

// indexList is a flag with indices and spans of them: "2,3,38" or "4-7,12".
type indexList []int

// maxIndex bounds a span, so that a typing error cannot fill the memory. No
// model has nearly as many layers and no profile as many passes.
const maxIndex = 1 << 20

// String implements flag.Value; indices that follow each other become spans.
func (l indexList) String() string {
	var parts []string
	for i := 0; i < len(l); {
		j := i
		for j+1 < len(l) && l[j+1] == l[j]+1 {
			j++
		}
		part := strconv.Itoa(l[i])
		if j > i {
			part += "-" + strconv.Itoa(l[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	return strings.Join(parts, ",")
}

// Set implements flag.Value.
func (l *indexList) Set(s string) error { return l.read(s, 0) }

// layerList is an indexList whose numbers may be negative: those of layers that count from the end.
type layerList struct{ indexList }

// Set implements flag.Value.
func (l *layerList) Set(s string) error { return l.read(s, -maxIndex) }

func (l *indexList) read(s string, least int) error {
	var list []int
	for part := range strings.SplitSeq(s, ",") {
		part = strings.TrimSpace(part)
		from, to := part, part
		if i := strings.LastIndex(part, "-"); i > 0 {
			if part[i-1] == '-' { // "-3--1"
				i--
			}
			from, to = part[:i], part[i+1:]
		}
		a, err := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || a < least || b < a || b > maxIndex {
			return fmt.Errorf("want numbers such as 2,3,38 or 4-7")
		}
		for i := a; i <= b; i++ {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	*l = slices.Compact(list)
	return nil
}

// redactAll is the word for all parts of a slice.
const redactAll = "all"

// redacted returns what reads a list of the parts of a slice to hide.
func redacted(r *perfetto.Redaction) func(string) error {
	parts := map[string]*bool{"paths": &r.Paths, "names": &r.Names, "shapes": &r.Shapes, "model-files": &r.ModelFiles}
	return func(list string) error {
		for word := range strings.SplitSeq(list, ",") {
			word = strings.TrimSpace(word)
			if word == redactAll {
				*r = perfetto.Redaction{Paths: true, Names: true, Shapes: true, ModelFiles: true}
			} else if on := parts[word]; on != nil {
				*on = true
			} else {
				return fmt.Errorf("want a list of paths, names, shapes, model-files, or all")
			}
		}
		return nil
	}
}
