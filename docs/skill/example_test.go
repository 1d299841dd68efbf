package skill_test

import (
	"fmt"
	"strings"

	"github.com/llmstrata/strata/docs/skill"
)

func ExampleText() {
	name, _, _ := strings.Cut(strings.TrimPrefix(skill.Text(), "---\n"), "\n")
	fmt.Println(name)
	// Output: name: strata
}
