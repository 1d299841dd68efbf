package serve_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/perfetto/serve"
)

func ExampleStart() {
	dir, err := os.MkdirTemp("", "serve")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "demo.json.gz")
	if err := os.WriteFile(file, demo.Trace(), 0o600); err != nil {
		log.Fatal(err)
	}
	s, err := serve.Start(file, "127.0.0.1:0", "") // "" for the address that the public UI accepts
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	link := perfetto.Link{TraceURL: s.URL()} // to be opened in a browser
	_ = link.String()
	err = s.Wait(context.Background(), time.Millisecond)
	fmt.Println(err)
	// Output: serve: the UI did not fetch the trace within 1ms
}
