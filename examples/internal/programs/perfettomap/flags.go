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
func (l *indexList) Set(s string) error {
	var list []int
	for _, part := range strings.Split(s, ",") {
		from, to, span := strings.Cut(strings.TrimSpace(part), "-")
		if !span {
			to = from
		}
		a, err := strconv.Atoi(from)
		b, err2 := strconv.Atoi(to)
		if err != nil || err2 != nil || a < 0 || b < a || b > maxIndex {
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

// redactFlag is a flag with the parts to hide.
type redactFlag perfetto.Redaction

// redactPart is what can be redacted, by its word.
type redactPart struct {
	word string
	on   *bool
}

func (r *redactFlag) parts() []redactPart {
	return []redactPart{{"paths", &r.Paths}, {"names", &r.Names}, {"shapes", &r.Shapes}, {"model-files", &r.ModelFiles}}
}

// redactAll is the word for all parts.
const redactAll = "all"

// String implements flag.Value.
func (r *redactFlag) String() string {
	var on []string
	for _, p := range r.parts() {
		if *p.on {
			on = append(on, p.word)
		}
	}
	return strings.Join(on, ",")
}

// Set implements flag.Value.
func (r *redactFlag) Set(s string) error {
	for _, word := range strings.Split(s, ",") {
		word = strings.TrimSpace(word)
		known := false
		for _, p := range r.parts() {
			if word == p.word || word == redactAll {
				*p.on, known = true, true
			}
		}
		if !known {
			return fmt.Errorf("want a list of paths, names, shapes, model-files, or all")
		}
	}
	return nil
}
