package programs

import (
	"io"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/testdata"
)

// TestReportColourAndWidthOfATerminal: a terminal gets colours and tables that fit it, unless its user wants no colours
// or it has none.
func TestReportColourAndWidthOfATerminal(t *testing.T) {
	for _, c := range []struct {
		noColor, term string
		want          bool
	}{{"", "xterm", true}, {"1", "xterm", false}, {"", "dumb", false}} {
		t.Setenv("NO_COLOR", c.noColor)
		t.Setenv("TERM", c.term)
		t.Setenv("COLUMNS", "")
		user, program := testdata.Terminal(t, 90)
		shown := make(chan string)
		go func() {
			text, _ := io.ReadAll(user) // ends with an error when the other end is closed
			shown <- string(text)
		}()
		p := Report()
		if code := p.Exec(t.Context(), []string{"--progress=false"}, strings.NewReader(""), program,
			io.Discard); code != app.ExitOK {
			t.Fatalf("exit code %d", code)
		}
		program.Close()
		text := <-shown
		if got := strings.Contains(text, "\x1b["); got != c.want {
			t.Errorf("NO_COLOR=%q TERM=%q: coloured %v, want %v", c.noColor, c.term, got, c.want)
		}
		if !c.want {
			for _, line := range strings.Split(text, "\r\n") {
				if n := len([]rune(line)); n > 90 {
					t.Errorf("a line of %d characters on a terminal of 90: %s", n, line)
				}
			}
		}
	}
}
