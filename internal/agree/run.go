package agree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs are the programs that are held to one answer.
var programs = []struct {
	name string
	args []string
}{
	{"layer-timeline", []string{"--format", "json"}},
	{"perfetto-map", []string{"--format", "json"}},
	{"triage", []string{"--format", "json", "--min-share", "0"}},
	{"host-detect", []string{"--format", "json"}},
	{"host-compare", []string{"--format", "json"}},
	{"kernel-export", []string{"--device", "all"}},
}

// build builds the programs of the module at root into dir.
func build(ctx context.Context, root, dir string) error {
	args := []string{"build", "-o", dir + string(filepath.Separator)}
	for _, p := range programs {
		args = append(args, "./examples/"+p.name)
	}
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// ask runs all programs of dir on a trace, "" for the demo. devices is how many
// there are: with several kernel-export is asked a second time, for the one it
// takes by itself.
func ask(ctx context.Context, dir, trace string, devices int) (*documents, error) {
	d := &documents{failed: map[string]string{}}
	for _, p := range programs {
		if err := d.ask(ctx, dir, p.name, p.name, trace, p.args); err != nil {
			return nil, err
		}
	}
	if devices > 1 {
		if err := d.ask(ctx, dir, "kernel-export", "kernel-export shown", trace, nil); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// ask runs one program and keeps its document under a name.
func (d *documents) ask(ctx context.Context, dir, program, name, trace string, args []string) error {
	if trace != "" {
		args = append([]string{"--trace", trace}, args...)
	}
	cmd := exec.CommandContext(ctx, filepath.Join(dir, program), args...)
	// No config that lies in somebody's home may change an answer.
	cmd.Env = append(os.Environ(), "HOME="+dir, "HF_HOME=")
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var exit *exec.ExitError
	switch err := cmd.Run(); {
	case errors.As(err, &exit):
		d.failed[name] = strings.TrimSpace(stderr.String())
		return nil
	case err != nil:
		return fmt.Errorf("%s: %w", program, err)
	}
	return d.set(name, stdout.Bytes())
}
