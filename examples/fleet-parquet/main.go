package main

import (
	"context"
	"flag"
	"fmt"
	"os"

	_ "gocloud.dev/blob/gcsblob" // gs://
	_ "gocloud.dev/blob/s3blob"  // s3://

	"github.com/llmstrata/strata/examples/fleet-parquet/tables"
)

func main() {
	output := flag.String("output", "", "`FOLDER` for the tables, here or as s3://bucket/folder, gs://bucket/folder")
	flag.Parse()
	if *output == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "fleet-parquet: want --output and files of digests")
		os.Exit(2)
	}
	if err := tables.Write(context.Background(), *output, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "fleet-parquet:", err)
		os.Exit(1)
	}
}
