package arch

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

// TestZeroValues calls each method that an exported type of a public package has, on its zero value and with zero
// arguments, and each sequence that a method returns. A user's struct holds such values before it is filled.
func TestZeroValues(t *testing.T) {
	if !testdata.Long() {
		t.Skip("SKIPPED: set STRATA_LONG=1 to build a program of all packages")
	}
	src := own(t)
	var imports, values strings.Builder
	for i, p := range src.Packages {
		if p.Name == "main" || len(concrete(p)) == 0 || strings.Contains("/"+p.Dir+"/", "/internal/") ||
			strings.HasPrefix(p.Dir, "examples/") {
			continue
		}
		fmt.Fprintf(&imports, "\tp%d %q\n", i, strings.TrimSuffix(src.Module+"/"+p.Dir, "/."))
		for _, name := range concrete(p) {
			fmt.Fprintf(&values, "\tnew(p%d.%s),\n", i, name)
		}
	}
	dir, root := t.TempDir(), testdata.Root(t)
	program := filepath.Join(dir, "main.go")
	text := fmt.Sprintf(zeroProgram, imports.String(), values.String())
	overlay, err := json.Marshal(map[string]map[string]string{
		"Replace": {filepath.Join(root, "internal", "zeroes", "main.go"): program}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{program: text, filepath.Join(dir, "overlay.json"): string(overlay)} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.Command("go", "run", "-overlay", filepath.Join(dir, "overlay.json"), "./internal/zeroes")
	run.Dir = root
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for line := range strings.Lines(string(out)) {
		t.Error(strings.TrimSpace(line))
	}
}

// concrete are the exported types of a package that have a zero value: no interfaces, and none with parameters.
func concrete(p *Package) (names []string) {
	for _, f := range p.Files {
		if f.Test {
			continue
		}
		for _, d := range f.AST.Decls {
			group, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range group.Specs {
				of, ok := s.(*ast.TypeSpec)
				if !ok || !of.Name.IsExported() || of.TypeParams != nil {
					continue
				}
				if _, ok := of.Type.(*ast.InterfaceType); !ok {
					names = append(names, of.Name.Name)
				}
			}
		}
	}
	return names
}

// zeroProgram prints a line for each method that panics.
const zeroProgram = `package main

import (
	"context"
	"fmt"
	"io"
	"reflect"

%s)

var values = []any{
%s}

func main() {
	for _, v := range values {
		of := reflect.ValueOf(v)
		for i := range of.NumMethod() {
			call(of.Type().Elem().String()+"."+of.Type().Method(i).Name, of.Method(i))
		}
	}
}

func call(name string, method reflect.Value) {
	var args []reflect.Value
	for i := range method.Type().NumIn() {
		of := method.Type().In(i)
		in := reflect.New(of).Elem()
		switch {
		case i == method.Type().NumIn()-1 && method.Type().IsVariadic():
			continue
		case of.Kind() == reflect.Func:
			return // it needs one
		case of.Kind() == reflect.Pointer:
			in.Set(reflect.New(of.Elem()))
		case of == reflect.TypeFor[context.Context]():
			in.Set(reflect.ValueOf(context.Background()))
		case of == reflect.TypeFor[io.Writer]():
			in.Set(reflect.ValueOf(io.Discard))
		}
		args = append(args, in)
	}
	defer func() {
		if why := recover(); why != nil {
			fmt.Printf("%%s on a zero value panics: %%v\n", name, why)
		}
	}()
	for _, out := range method.Call(args) {
		switch {
		case out.Type().CanSeq() && out.Kind() == reflect.Func:
			for range out.Seq() {
			}
		case out.Type().CanSeq2() && out.Kind() == reflect.Func:
			for range out.Seq2() {
			}
		}
	}
}
`
