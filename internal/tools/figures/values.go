package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// read adds the values of JSON documents, or of a text where there is none.
func read(text []byte, values map[string]string) error {
	if !json.Valid(firstLine(text)) && !json.Valid(text) {
		readText("text", text, values)
		return nil
	}
	documents := json.NewDecoder(bytes.NewReader(text))
	documents.UseNumber()
	var rows []any
	for {
		var document any
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		rows = append(rows, document)
	}
	if len(rows) == 1 {
		readJSON("", rows[0], values)
	} else {
		readJSON("", rows, values)
	}
	return nil
}

func firstLine(text []byte) []byte {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	return line
}

// names are the fields that identify a row of a list, so that a row too many is one difference.
var names = []string{"name", "kernel_name", "kernel", "code", "operator", "op", "title", "id"}

func readJSON(place string, value any, values map[string]string) {
	switch value := value.(type) {
	case map[string]any:
		for key, v := range value {
			readJSON(strings.TrimPrefix(place+"."+key, "."), v, values)
		}
	case []any:
		seen := map[string]int{}
		for i, v := range value {
			row := fmt.Sprint(i)
			if fields, ok := v.(map[string]any); ok {
				row = ""
				for _, name := range names {
					if text, ok := fields[name].(string); ok && row == "" {
						row = text
					}
				}
				seen[row]++
				row += fmt.Sprintf("#%d", seen[row])
			}
			readJSON(place+"["+escaped.Replace(row)+"]", v, values)
		}
	default:
		values[place] = fmt.Sprint(value)
	}
}

// escaped keeps brackets of a row's name from ending it.
var escaped = strings.NewReplacer("[", "(", "]", ")")

var gap = regexp.MustCompile(`\s{2,}`)

var number = regexp.MustCompile(`\d[\d.,]*`)

// readText adds the cells of a text's lines. A cell's place is the title above it, without its numbers, the first cell
// of its line and its column. Rules are as wide as their tables, and no values.
func readText(place string, text []byte, values map[string]string) {
	title := ""
	seen := map[string]int{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n ")
		if strings.Trim(line, "- ") == "" {
			continue
		}
		cells := gap.Split(strings.TrimSpace(line), -1)
		if len(cells) == 1 && line[0] != ' ' {
			title = number.ReplaceAllString(cells[0], "N")
		}
		row := title + "|" + cells[0]
		seen[row]++
		row = escaped.Replace(fmt.Sprintf("%s#%d", row, seen[row]))
		for i, cell := range cells {
			values[fmt.Sprintf("%s[%s].%d", place, row, i)] = cell
		}
	}
}

var row = regexp.MustCompile(`\[[^\[\]]*\]`)

// inAnyRow is a place without its rows.
func inAnyRow(place string) string { return row.ReplaceAllString(place, "[]") }
