package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/gcs" // gs://
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3" // s3://
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
)

func main() {
	input := flag.String("input", "", "`PATTERN` of trace files, as gs://bucket/run/* or a folder")
	output := flag.String("output", "", "`FILE` for the report as JSON, in any filesystem")
	full := flag.Bool("full", false, "write every rank and step")
	flag.Parse()
	beam.Init()
	if *input == "" || *output == "" {
		fmt.Fprintln(os.Stderr, "fleet-beam: want --input and --output")
		os.Exit(2)
	}
	ctx := context.Background()
	p, err := pipeline(ctx, *input, *output, *full)
	if err == nil {
		err = beamx.Run(ctx, p)
	}
	if err != nil {
		log.Fatalf("fleet-beam: %v", err)
	}
}
