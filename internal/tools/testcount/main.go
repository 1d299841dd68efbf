// Testcount reads the output of go test -json on its standard input, prints
// what failed (with its output) and what was skipped (with its reason), and
// closes with "N passed, N failed, N skipped" alone on a line. It exits 1 when
// a test or a package failed, or when the input holds no test at all.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// event is one line of go test -json (see go doc test2json).
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string // of build output
	FailedBuild                   string
}

func main() {
	ok, err := run(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testcount:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// run counts and prints; it reports whether everything passed.
func run(r io.Reader, w io.Writer) (bool, error) {
	var passed, failed, skipped int
	output := map[string][]string{}
	reasons := map[string]int{}
	out := bufio.NewWriter(w)
	sc := bufio.NewScanner(r)
	sc.Buffer(make([]byte, 0, 1<<20), 64<<20) // a test may print a long line
	for sc.Scan() {
		var e event
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			fmt.Fprintf(out, "%s\n", sc.Text()) // not from a test: a build error of the go command
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "output":
			output[key] = append(output[key], e.Output)
		case "build-output":
			output[e.ImportPath] = append(output[e.ImportPath], e.Output)
		case "pass":
			if e.Test != "" {
				passed++
			}
			delete(output, key)
		case "fail":
			// A package fails with its tests; it counts only where none of them
			// did, as when it does not build.
			if e.Test != "" || !anyFailed(output, e.Package) {
				failed++
			}
			fmt.Fprintf(out, "FAILED %s\n%s%s", key, strings.Join(output[e.FailedBuild], ""),
				strings.Join(output[key], ""))
			output[key] = nil
			output[e.Package+" \x00failed"] = []string{}
		case "skip":
			if e.Test != "" {
				skipped++
				reasons[reason(output[key])]++
			}
			delete(output, key)
		}
	}
	if err := sc.Err(); err != nil {
		return false, err
	}
	for _, k := range slices.Sorted(maps.Keys(reasons)) {
		fmt.Fprintf(out, "skipped %d: %s\n", reasons[k], k)
	}
	fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", passed, failed, skipped)
	return failed == 0 && passed > 0, out.Flush()
}

// anyFailed reports whether a test of the package failed before.
func anyFailed(output map[string][]string, pkg string) bool {
	_, ok := output[pkg+" \x00failed"]
	return ok
}

// reason finds the message of a skipped test in its output.
func reason(lines []string) string {
	for _, l := range lines {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "=== ") || strings.HasPrefix(l, "--- ") {
			continue
		}
		if _, text, ok := strings.Cut(l, ".go:"); ok {
			if _, msg, ok := strings.Cut(text, ": "); ok {
				return msg
			}
		}
		return l
	}
	return "no reason given"
}
