package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// around is how many whole events stand on either side of a case: more than a
// case may cost, so that a side that is lost shows.
const around = lossMax + 2

// place is where in a trace a case stands: the bytes before it and behind.
type place struct {
	name, front, back string
	whole             int // events, that of the case included
}

// places are a value before the events, an element of traceEvents, the args
// of an event, and the inside of its name.
func places() []place {
	event := func(i int, name, more string) string {
		return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":7,"ts":%d,"dur":2%s}`, name, 10*i, more)
	}
	var before, after []string
	for i := range around {
		before = append(before, event(i, fmt.Sprint("before", i), ""))
		after = append(after, event(around+1+i, fmt.Sprint("after", i), ""))
	}
	front, back := `{"traceEvents": [`+strings.Join(before, ",\n")+",\n", ",\n"+strings.Join(after, ",\n")+"]}"
	own := func(name, more string) place {
		x, y, _ := strings.Cut(event(around, name, more), "CASE")
		return place{front: front + x, back: y + back, whole: 2*around + 1}
	}
	args, name := own("own", `,"args":CASE`), own("CASE", "")
	args.name, name.name = "args", "name"
	return []place{
		{"metadata", `{"deviceProperties": `, `, "traceEvents": [` + strings.Join(before, ",\n") + back, 2 * around},
		{"element", front, back, 2 * around},
		args,
		name,
	}
}

// embed returns the trace with text at the place.
func (p place) embed(text []byte) []byte {
	return []byte(p.front + string(text) + p.back)
}

// jsonCases reads the *.json of a folder, in the order of their names.
func jsonCases(dir string) (names []string, texts [][]byte, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, nil, fmt.Errorf("-json %s: no *.json in it (%v)", dir, err)
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, nil, err
		}
		names, texts = append(names, filepath.Base(f)), append(texts, text)
	}
	return names, texts, nil
}

// json embeds the files of JSONTestSuite.
func (b *bench) json(ctx context.Context) error {
	if b.jsonDir == "" {
		return nil
	}
	_, texts, err := jsonCases(b.jsonDir)
	if err != nil {
		return err
	}
	for _, p := range places() {
		var cases [][]byte
		for _, text := range texts {
			cases = append(cases, p.embed(text))
		}
		b.feed(ctx, "json", "JSONTestSuite as "+p.name, p.whole, cases)
	}
	return ctx.Err()
}
