package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	fs := flag.NewFlagSet("figures", flag.ContinueOnError)
	runs := fs.Int("runs", 5, "runs of each program, of which the median counts; 0: sizes only")
	traces := fs.String("generate", "", "only write the traces into this `DIR`")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *traces != "" {
		return generate(*traces)
	}
	dirs := fs.Args()
	if len(dirs) == 0 {
		dirs = []string{"."}
	}
	if *runs > 0 { // first, while this process is small
		if err := costs(ctx, w, dirs, *runs); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	return sizes(w, dirs)
}

// sizes prints a table of the packages of each checkout.
func sizes(w io.Writer, dirs []string) error {
	all := make([]map[string]size, len(dirs))
	names := map[string]bool{}
	for i, dir := range dirs {
		var err error
		if all[i], err = measure(dir); err != nil {
			return err
		}
		for name := range all[i] {
			names[name] = true
		}
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	sort.Strings(sorted)
	fmt.Fprintf(w, "| package | files | lines | statements | exported | functions over %d lines |\n|---|---|---|---|---|---|\n", longFunction)
	total := make([]size, len(dirs))
	for _, name := range append(sorted, "all") {
		row := make([]size, len(dirs))
		for i := range dirs {
			row[i] = all[i][name]
			if name == "all" {
				row[i] = total[i]
			}
			total[i].add(row[i])
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", name, each(row, func(s size) int { return s.files }), each(row, func(s size) int { return s.lines }),
			each(row, func(s size) int { return s.statements }), each(row, func(s size) int { return s.exported }), each(row, func(s size) int { return s.long }))
	}
	return nil
}

// each writes a figure of every checkout.
func each(row []size, get func(size) int) string {
	var parts []string
	for _, s := range row {
		parts = append(parts, fmt.Sprint(get(s)))
	}
	return strings.Join(parts, " → ")
}

// scratch returns a directory for binaries and traces and how to remove it.
func scratch() (string, func(), error) {
	dir, err := os.MkdirTemp("", "figures")
	return dir, func() { os.RemoveAll(dir) }, err
}

// bin is where the programs of the i-th checkout lie.
func bin(dir string, i int) string { return filepath.Join(dir, fmt.Sprint("bin", i)) }
