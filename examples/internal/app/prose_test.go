package app_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
)

// TestLongLinesFitTheTerminal: running text is broken between words; tables, coloured lines and documents are left as
// they are.
func TestLongLinesFitTheTerminal(t *testing.T) {
	row := "layer     1.234  12  " + strings.Repeat("9", 40)
	for _, c := range []struct{ name, format, text, want string }{
		{"prose", "text", "  - because the device waits for host code in each of the steps\n",
			"  - because the device waits for host\n    code in each of the steps\n"},
		{"label", "text", "  MoE:    experts 60, top-k 8, shared 1, intermediate 1024\n",
			"  MoE:    experts 60, top-k 8, shared 1,\n          intermediate 1024\n"},
		{"a name that is cut already", "text", "    after " + strings.Repeat("n", 40) + "...\n",
			"    after\n      " + strings.Repeat("n", 31) + "...\n"},
		{"a path stays whole", "text", "    reading the file /" + strings.Repeat("n", 40) + "\n",
			"    reading the file\n      /" + strings.Repeat("n", 40) + "\n"},
		{"one word", "text", strings.Repeat("x", 50) + "\n", strings.Repeat("x", 50) + "\n"},
		{"µ is one character", "text", "it takes 12 µs 12 µs 12 µs 12 µs 12 µs.\n",
			"it takes 12 µs 12 µs 12 µs 12 µs 12 µs.\n"},
		{"table", "text", row + "\n", row + "\n"},
		{"rule", "text", strings.Repeat("-", 90) + "\n", strings.Repeat("-", 40) + "\n"},
		{"no end", "text", "short", "short"},
		{"an escape sequence that is no style", "text", "\x1b[1m" + strings.Repeat("word ", 12) + "\n",
			"\ufffd[1m" + strings.Repeat("word ", 12) + "\n"},
		{"document", "text", "{\"text\": \"" + strings.Repeat("word ", 12) + "\"}\n",
			"{\"text\": \"" + strings.Repeat("word ", 12) + "\"}\n"},
		{"markdown", "markdown", strings.Repeat("word ", 12) + "\n", strings.Repeat("word ", 12) + "\n"},
	} {
		p := app.Program{Name: "x", Common: app.FormatFlag, Formats: []app.Format{app.Text, app.Markdown},
			Run: func(_ context.Context, env *app.Env) error {
				_, err := fmt.Fprint(env.Stdout, c.text)
				return err
			}}
		if diff := cmp.Diff(c.want, apptest.MustRun(t, p, "--width", "40", "--format", c.format).Stdout); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
