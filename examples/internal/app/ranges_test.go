package app_test

import (
	"flag"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/examples/internal/apptest"
)

// TestNumbersOutOfRange: on either side of what a placeholder allows.
func TestNumbersOutOfRange(t *testing.T) {
	p := func() app.Program {
		q := hello()
		q.Flags = func(fs *flag.FlagSet) {
			fs.String("who", "", "")
			fs.Float64("idle", 0.3, "a `RATIO`")
			fs.Float64("share", 1, "a `percent`")
			fs.Int("rows", 5, "`N` rows")
			fs.Int("pass", -1, "`N`; −1: the steady one")
		}
		q.Run = loader().Run
		return q
	}
	for args, want := range map[string]string{"--idle 30": "want a ratio from 0 to 1", "--idle 1": "", "--idle 0": "",
		"--idle -0.1": "ratio", "--idle NaN": "finite", "--share -3": "want no negative number", "--share 0": "",
		"--share 120": "", "--rows -1": "want no negative number", "--rows 0": "", "--pass -1": ""} {
		got := apptest.Run(t, p(), strings.Fields(args)...)
		if (got.Code == app.ExitUsage) != (want != "") || !strings.Contains(got.Stderr, want) {
			t.Errorf("%s: exit code %d, %q, want %q", args, got.Code, got.Stderr, want)
		}
	}
}
