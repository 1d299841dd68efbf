package hostoverhead

import (
	"os"
	"regexp"
	"testing"

	"github.com/llmstrata/strata/trace"
)

// TestEveryDoubtIsExplained: the codes in the source of doubts are those of the topics.
func TestEveryDoubtIsExplained(t *testing.T) {
	source, err := os.ReadFile("doubts.go")
	if err != nil {
		t.Fatal(err)
	}
	codes := map[string]bool{string(trace.CodeOneRow): true} // named by its constant
	for _, m := range regexp.MustCompile(`(?:doubtIf\([^"\n]*|Doubt\{)"([a-z-]+)"`).FindAllSubmatch(source, -1) {
		codes[string(m[1])] = true
	}
	for _, topic := range Topics() {
		if !codes[topic.ID] {
			t.Errorf("%s is explained and no doubt", topic.ID)
		}
		delete(codes, topic.ID)
	}
	for code := range codes {
		t.Errorf("%s is not explained", code)
	}
}
