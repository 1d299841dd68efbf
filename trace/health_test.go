package trace_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestEveryLossHasACode: the code of each reason is one of the documented constants.
func TestEveryLossHasACode(t *testing.T) {
	documented, err := os.ReadFile("health.go")
	if err != nil {
		t.Fatal(err)
	}
	reasons, err := os.ReadFile("event/loss.go")
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`(?m)^\t\w+ +Loss = "([a-z-]+)"`).FindAllSubmatch(reasons, -1)
	if len(rows) < 10 {
		t.Fatalf("%d reasons were found", len(rows))
	}
	for _, row := range rows {
		code := trace.CodeOfLoss(event.Loss(row[1]))
		if !strings.Contains(string(documented), `Code = "`+string(code)+`"`) {
			t.Errorf("%s is no documented constant", code)
		}
	}
}
