package agree

import (
	"bytes"
	"context"
	"strings"

	"github.com/llmstrata/strata/examples/internal/command"
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

// ask runs all programs on a trace, "" for the demo. devices is how many
// there are: with several kernel-export is asked a second time, for the one it
// takes by itself.
func ask(ctx context.Context, trace string, devices int) (*documents, error) {
	d := &documents{failed: map[string]string{}}
	for _, p := range programs {
		if err := d.ask(ctx, p.name, p.name, trace, p.args); err != nil {
			return nil, err
		}
	}
	if devices > 1 {
		if err := d.ask(ctx, "kernel-export", "kernel-export shown", trace, nil); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// ask runs one program and keeps its document under a name.
func (d *documents) ask(ctx context.Context, program, name, trace string, args []string) error {
	if trace != "" {
		args = append([]string{"--trace", trace}, args...)
	}
	var stdout, stderr bytes.Buffer
	if code := command.Exec(ctx, append([]string{program}, args...), strings.NewReader(""), &stdout,
		&stderr); code != 0 {
		d.failed[name] = strings.TrimSpace(stderr.String())
		return nil
	}
	return d.set(name, stdout.Bytes())
}
