package command

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmstrata/strata/classify"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/hostoverhead"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/layer/compare"
	"github.com/llmstrata/strata/layer/finding"
	"github.com/llmstrata/strata/trace"
)

const explainUsage = "usage: " + name + " explain [ID] [--format text|markdown|json]\n" +
	"Explain a finding, cause, doubt, remark or rule of kernel categories by its ID; without one, list all.\n" +
	"Examples:\n  strata explain\n  strata explain launch-call\n  strata explain orphans --format json\n" +
	"  strata explain rules\n"

// topics are those of all analyses, in the order of the catalogue.
func topics() []finding.Topic {
	all := slices.Concat(finding.Topics(), hostoverhead.Topics(), compare.Topics())
	for _, c := range trace.Codes() {
		all = append(all, finding.Topic{ID: string(c.Code), Section: finding.SectionRecording, Title: c.Title,
			Means:  c.Means,
			Advice: finding.Advice{Do: c.Do}, Page: "format/input.md"})
	}
	return all
}

// allRules is what the rules of kernel categories are listed by.
const allRules = "rules"

// ruleTopics are the rules of kernel categories, in the order in which they are asked.
func ruleTopics() []finding.Topic {
	var all []finding.Topic
	for _, r := range classify.Default().Rules() {
		means := "Kernels of category " + string(r.Category)
		if r.Subcategory != "" {
			means += ", " + r.Subcategory
		}
		all = append(all, finding.Topic{ID: r.ID, Section: finding.SectionRules, Title: r.Title, Means: means + ".",
			Page: "categories.md"})
	}
	return all
}

const flagJSON, flagFormat = "--json", "--format"

// explain prints what an identifier means, or all of them.
func explain(args []string, stdout, stderr io.Writer) int {
	format, id := app.Text, ""
	for i := 0; i < len(args); i++ {
		switch a := args[i]; {
		case app.AsksHelp(args[i:]):
			return exitCode(stderr, printed(io.WriteString(stdout, explainUsage)))
		case a == flagJSON:
			format = app.JSON
		case a == flagFormat && i+1 < len(args):
			i++
			format = app.Format(args[i])
		case strings.HasPrefix(a, flagFormat+"="):
			format = app.Format(strings.TrimPrefix(a, flagFormat+"="))
		case strings.HasPrefix(a, "-") || id != "":
			fmt.Fprint(stderr, explainUsage)
			return app.ExitUsage
		default:
			id = a
		}
	}
	list := topics()
	switch id {
	case "":
	case allRules:
		list, id = ruleTopics(), ""
	default:
		list = append(list, ruleTopics()...)
		found := finding.Lookup(list, id)
		if len(found) == 0 {
			var ids []string
			for _, t := range list {
				ids = append(ids, t.ID)
			}
			hint := ""
			if near := app.Nearest(id, ids); near != "" {
				hint = fmt.Sprintf(": did you mean %s?", near)
			}
			fmt.Fprintf(stderr, "%s explain: unknown ID %q%s (see %s explain)\n", name, table.Clean(id), hint, name)
			return app.ExitUsage
		}
		list = found
	}
	out := table.NewCleaner(stdout)
	switch format {
	case app.JSON:
		out.JSON = true
		enc := json.NewEncoder(out)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", "  ")
		return exitCode(stderr, enc.Encode(ExplainDocument{"strata.explain/1", list}))
	case app.Markdown, app.ShortMarkdown:
		return exitCode(stderr, printed(io.WriteString(out, catalogue(list))))
	case app.Text:
		return exitCode(stderr, printed(io.WriteString(out, explained(list, id != ""))))
	}
	fmt.Fprintf(stderr, "%s explain: unknown format %q (text, markdown, json)\n", name, table.Clean(string(format)))
	return app.ExitUsage
}

// ExplainDocument is what strata explain writes as JSON.
type ExplainDocument struct {
	Schema string          `json:"schema"` // name and version of the document
	Topics []finding.Topic `json:"topics"` // those asked for, else all
}

// parts are what is said of a topic, each with its label.
func parts(t *finding.Topic) [][2]string {
	list := [][2]string{{"Means", t.Means}, {"Found", t.Found}, {"Limits", t.Limits}, {"Fix", t.Do},
		{"Source", t.Source}, {"Next", t.Next}}
	return slices.DeleteFunc(list, func(p [2]string) bool { return p[1] == "" })
}

// explained is the text for a terminal: one line a topic, or all of it.
func explained(list []finding.Topic, full bool) string {
	const width, indent = 96, 8
	var b strings.Builder
	var section finding.Section
	for i := range list {
		t := &list[i]
		if t.Section != section && !full {
			section = t.Section
			fmt.Fprintf(&b, "%s%s:\n", map[bool]string{true: "\n"}[i > 0], section)
		}
		if !full {
			fmt.Fprintf(&b, "  %-31s %s", t.ID, t.Title)
			if t.Section == finding.SectionRules {
				fmt.Fprintf(&b, " (%s)", strings.TrimSuffix(strings.TrimPrefix(t.Means, "Kernels of category "), "."))
			}
			b.WriteString("\n")
			continue
		}
		fmt.Fprintf(&b, "%s%s: %s\n", map[bool]string{true: "\n"}[i > 0], t.ID, t.Title)
		for _, p := range parts(t) {
			for k, line := range table.Fill(p[1], width-indent) {
				label := ""
				if k == 0 {
					label = p[0]
				}
				fmt.Fprintf(&b, "%-*s%s\n", indent, label, line)
			}
		}
		if t.Page != "" {
			fmt.Fprintf(&b, "%-*sdocs/%s\n", indent, "See", t.Page)
		}
	}
	if !full {
		fmt.Fprintf(&b, "\n%s explain ID says what one means, how it is found, and what to do.\n", name)
	}
	return b.String()
}

// catalogue is docs/findings.md: what each identifier means, and what to do.
func catalogue(list []finding.Topic) string {
	var b strings.Builder
	b.WriteString("# Findings\n\nEvery identifier in reports and documents, written by `strata explain --format " +
		"markdown`.\n" +
		"`strata explain ID` adds how it is found, what it cannot know, the source and the next command.\n")
	var section finding.Section
	page := ""
	for i := range list {
		t := &list[i]
		if t.Section != section {
			section, page = t.Section, ""
			fmt.Fprintf(&b, "\n## %s\n\n", section)
		}
		fmt.Fprintf(&b, "* **`%s`: %s.** %s", t.ID, table.EscapeMarkdown(t.Title), table.EscapeMarkdown(t.Means))
		if t.Do != "" {
			fmt.Fprintf(&b, " *Fix:* %s", table.EscapeProse(t.Do))
		}
		if t.Page != page && t.Page != "" {
			page = t.Page
			fmt.Fprintf(&b, " [More](%s)", page)
		}
		b.WriteString("\n")
	}
	return b.String()
}
