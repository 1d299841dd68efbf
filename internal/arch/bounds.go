package arch

import (
	"fmt"
	"go/ast"
	"maps"
	"slices"
	"strings"
)

// The bounds of a package and of a function. Generated files and tests do not
// count.
const (
	MaxFiles        = 20   // of a package: more is two packages
	MaxPackageLines = 4000 // of a package
	MaxFunction     = 60   // lines of a function: what fits a screen
)

// Size is how large a package may be.
type Size struct{ Files, Lines int }

// Oversized are the packages above the bounds, each with the size that it may not
// outgrow. A package that has shrunk below the bounds leaves the list: it may
// only get shorter.
var Oversized = map[string]Size{}

// LongFunctions are those that are still to be split. The list may only get
// shorter.
var LongFunctions = []string{}

// CheckSizes reports packages above the bounds, or above what the list of
// exceptions allows, and exceptions that are none any more.
func CheckSizes(s *Source, exceptions map[string]Size) []string {
	var bad []string
	for _, p := range s.Packages {
		var got Size
		for _, f := range p.Files {
			if !f.Test && !f.Generated {
				got.Files++
				got.Lines += f.Lines
			}
		}
		allowed, listed := exceptions[p.Dir]
		if !listed {
			allowed = Size{MaxFiles, MaxPackageLines}
		}
		switch within := got.Files <= MaxFiles && got.Lines <= MaxPackageLines; {
		case got.Files > allowed.Files || got.Lines > allowed.Lines:
			bad = append(bad, fmt.Sprintf("%s: %d files, %d lines, at most %d and %d: move a room of it into a package of its own",
				p.Dir, got.Files, got.Lines, allowed.Files, allowed.Lines))
		case listed && within:
			bad = append(bad, fmt.Sprintf("%s: %d files, %d lines: within the bounds, take it off the list of exceptions", p.Dir, got.Files, got.Lines))
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(exceptions)) {
		if s.find(dir) == nil {
			bad = append(bad, dir+": no such package, take it off the list of exceptions")
		}
	}
	return bad
}

// reasonForLength opens the sentence of a doc comment that says why a function is
// longer than a screen.
const reasonForLength = "One function: "

// CheckFunctions reports functions of more than max lines whose comment gives no
// reason in the words of reasonForLength, and reasons where none is needed. The
// functions of exceptions, "file: name", are still to be split; one that is short
// again leaves the list.
func CheckFunctions(s *Source, max int, exceptions []string) []string {
	var bad []string
	for _, p := range s.Packages {
		for _, f := range p.Files {
			if f.Test || f.Generated {
				continue
			}
			for _, d := range f.AST.Decls {
				fn, ok := d.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				lines := s.Fset.Position(fn.End()).Line - s.Fset.Position(fn.Pos()).Line + 1
				reason := strings.Contains(strings.ReplaceAll(fn.Doc.Text(), "\n", " "), reasonForLength)
				listed := slices.Contains(exceptions, f.Path+": "+fn.Name.Name)
				switch {
				case listed && lines <= max:
					bad = append(bad, fmt.Sprintf("%s: %s has %d lines: take it off the list of exceptions", f.Path, fn.Name.Name, lines))
				case lines > max && !reason && !listed:
					bad = append(bad, fmt.Sprintf("%s: %s has %d lines, at most %d: split it, or say why not (%q …) in its comment", f.Path, fn.Name.Name, lines, max, reasonForLength))
				case lines <= max && reason:
					bad = append(bad, fmt.Sprintf("%s: %s has %d lines and needs no reason for its length", f.Path, fn.Name.Name, lines))
				}
			}
		}
	}
	return bad
}
