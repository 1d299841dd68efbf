package reportfile

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/llmstrata/strata/internal/atomicfile"
)

// MaxSize bounds a report, in bytes: those of 16 ranks have some hundred kB.
const MaxSize = 64 << 20

// Is reports whether a file is one of a report: *.md or *.txt that opens with a
// triage head.
func Is(path string) (bool, error) {
	ext := strings.ToLower(filepath.Ext(path))
	if fi, err := os.Stat(path); ext != ".md" && ext != ".txt" || err != nil || !fi.Mode().IsRegular() {
		return false, nil // a link to nothing, a pipe, whose writer may never come
	}
	f, err := atomicfile.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	sc := bufio.NewScanner(io.LimitReader(f, 4096))
	for n := 0; n < 5 && sc.Scan(); n++ {
		if strings.TrimLeft(sc.Text(), "# ") == "Triage View" {
			return true, nil
		}
	}
	return false, nil
}

// Read reads a file of text. What is larger than a report, or holds what moves a
// terminal's cursor, is refused.
func Read(path string) (string, error) {
	f, err := atomicfile.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	switch {
	case err != nil:
		return "", err
	case len(data) > MaxSize:
		return "", fmt.Errorf("%s is no report: it has more than %d MB", path, MaxSize>>20)
	}
	text := string(data)
	if strings.ContainsFunc(text, func(c rune) bool {
		return unicode.IsControl(c) && c != '\n' && c != '\r' &&
			c != '\t'
	}) {
		return "", fmt.Errorf("%s is no report: it holds control characters", path)
	}
	return text, nil
}
