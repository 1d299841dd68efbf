package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/table"
)

const schemaUsage = "usage: " + name + " schema [NAME]\n" +
	"Lists the JSON documents of all commands, or prints the JSON Schema (2020-12) of one.\n" +
	"The names report, strata.report and strata.report/2 mean the same.\n"

// schemas lists the schemas of all documents, or prints one.
func schemas(args []string, stdout, stderr io.Writer) int {
	switch {
	case len(args) == 0:
		var b strings.Builder
		for _, s := range DocumentSchemas() {
			fmt.Fprintf(&b, "%-30s %s\n", s.ID(), s.Description)
		}
		return exitCode(stderr, printed(io.WriteString(stdout, b.String())))
	case len(args) == 1 && app.AsksHelp(args):
		return exitCode(stderr, printed(io.WriteString(stdout, schemaUsage)))
	case len(args) == 1 && !strings.HasPrefix(args[0], "-"):
		s := FindSchema(args[0])
		if s == nil {
			fmt.Fprintf(stderr, "%s schema: %s: no such document (%s schema lists them)\n", name, table.Clean(args[0]),
				name)
			return app.ExitUsage
		}
		return exitCode(stderr, printed(stdout.Write(s.Text)))
	}
	fmt.Fprint(stderr, schemaUsage)
	return app.ExitUsage
}
