package xplane_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/xplane"
)

func ExampleFormat() {
	_, err := trace.Read(context.Background(), strings.NewReader("{}"),
		trace.Options{Formats: []trace.Format{xplane.Format()}})
	fmt.Println(errors.Is(err, trace.ErrFormat))
	// Output: true
}
