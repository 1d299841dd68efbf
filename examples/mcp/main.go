// Command mcp serves strata's analyses to agents by the Model Context Protocol on its standard streams. It only
// reads, and only below one directory.
//
//	go run . -root /data/traces
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func main() {
	root := flag.String("root", ".", "the `directory` whose files may be read")
	cache := flag.Int64("cache", defaultCache, "`bytes` of finished analyses to keep")
	memory := flag.String("memory-limit", "auto", "`SIZE`: memory limit for loading a trace, e.g. 4GB")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s, err := newServer(*root, *cache, *memory)
	if err == nil {
		err = s.mcp.Run(ctx, &mcp.StdioTransport{})
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, "mcp:", err)
		os.Exit(1)
	}
}
