package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"go/importer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sort"
	"strings"
)

// committed is where the list stands, below the module's root.
const committed = "internal/apilist/api.txt"

func main() {
	update := flag.Bool("update", false, "write the list instead of comparing with it")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *update); err != nil {
		fmt.Fprintln(os.Stderr, "apilist:", err)
		os.Exit(1)
	}
}

// run lists the packages of the module around the working directory and
// compares, or writes.
func run(ctx context.Context, w io.Writer, update bool) error {
	root, err := goList(ctx, ".", "-m", "-f", "{{.Dir}}\t{{.Path}}")
	if err != nil {
		return err
	}
	dir, module, ok := strings.Cut(root[0], "\t")
	if !ok {
		return fmt.Errorf("no module: %q", root[0])
	}
	got, err := listModule(ctx, dir, module)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, filepath.FromSlash(committed))
	if update {
		return os.WriteFile(path, []byte(strings.Join(got, "\n")+"\n"), 0o666)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	diff := difference(strings.Split(strings.TrimSuffix(string(text), "\n"), "\n"), got)
	if len(diff) == 0 {
		fmt.Fprintf(w, "%d exported names, as committed\n", len(got))
		return nil
	}
	for _, line := range diff {
		fmt.Fprintln(w, line)
	}
	return errors.New("the exported interface is not the committed one (- committed, + now): " +
		"if that is meant, run go run ./internal/apilist -update and say it in CHANGELOG.md")
}

// listModule lists every public package of the module in dir.
func listModule(ctx context.Context, dir, module string) ([]string, error) {
	packages, err := goList(ctx, dir, "-f", "{{.ImportPath}}\t{{.Name}}", "./...")
	if err != nil {
		return nil, err
	}
	exports, err := goList(ctx, dir, "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", "./...")
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for _, line := range exports {
		path, file, _ := strings.Cut(line, "\t")
		files[path] = file
	}
	imp := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(files[path])
	})
	var lines []string
	for _, line := range packages {
		path, name, _ := strings.Cut(line, "\t")
		if !public(strings.TrimPrefix(path, module), name) {
			continue
		}
		pkg, err := imp.Import(path)
		if err != nil {
			return nil, err
		}
		lines = append(lines, list(strings.TrimPrefix(path, module+"/"), pkg)...)
	}
	sort.Strings(lines)
	return lines, nil
}

// public tells whether importers outside the module can use a package, given
// by its path below the module and its name.
func public(path, name string) bool {
	return name != "main" && !strings.Contains(path+"/", "/internal/")
}

// goList runs go list in a directory and returns the lines it prints.
func goList(ctx context.Context, dir string, args ...string) ([]string, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w\n%s", err, &stderr)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}
