package capture

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/llmstrata/strata/internal/framework"
)

// CheckServerLog fails with [ErrDiffusion] when the log at path says that the
// server runs a diffusion pipeline: no prefill, no decode, nothing the
// workloads measure. Lines are read one at a time; of a line
// longer than 1 MiB only the beginning counts.
func CheckServerLog(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("capture: server log: %w", err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 1<<20)
	for n := 1; ; n++ {
		line, more, err := r.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("capture: server log: %w", err)
		}
		for _, m := range framework.Diffusion().LogMarks {
			if strings.Contains(string(line), m) {
				return fmt.Errorf("capture: %s line %d says %q: %w", path, n, m, ErrDiffusion)
			}
		}
		for more && err == nil {
			_, more, err = r.ReadLine()
		}
	}
}
