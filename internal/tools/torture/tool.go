package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/tools/cost"
)

// tool is a program to torture; {} among its words is the file.
type tool struct {
	name  string
	words []string
}

func newTool(command string) (tool, error) {
	words := strings.Fields(command)
	if len(words) == 0 || !strings.Contains(command, "{}") {
		return tool{}, errors.New("want a command with {} where the file goes")
	}
	return tool{filepath.Base(words[0]), words}, nil
}

// countPrefix stands before the number of events that a tool read, on a line of
// its output. Tools that print it are judged by what they lose, too.
const countPrefix = "events: "

// outcome is what became of one file.
type outcome struct {
	crashed, hung, refused bool
	events                 int // −1 where the tool does not tell
	cpu                    time.Duration
	peak                   int64 // bytes, 0 unknown
	said                   string
}

// one gives data to a tool.
func (b *bench) one(ctx context.Context, t tool, data []byte) outcome {
	path := filepath.Join(b.dir, "case.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		return outcome{crashed: true, said: err.Error()}
	}
	ctx, stop := context.WithTimeout(ctx, b.limit)
	defer stop()
	words := make([]string, len(t.words))
	for i, w := range t.words {
		words[i] = strings.ReplaceAll(w, "{}", path)
	}
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &limited{&stdout, 1 << 20}, &limited{&stderr, 1 << 20}
	err := cmd.Run()
	o := outcome{events: -1, hung: ctx.Err() != nil}
	if s := cmd.ProcessState; s != nil {
		o.cpu, o.peak = cost.CPUOf(s), cost.PeakOf(s)
		// A signal that we did not send, or what runtimes print when they give up.
		o.crashed = !o.hung && (s.ExitCode() < 0 || bytes.Contains(stderr.Bytes(), []byte("goroutine ")) ||
			bytes.Contains(stderr.Bytes(), []byte("Traceback (most recent")))
		o.refused = s.ExitCode() > 0
	} else if err != nil {
		o.crashed = true
	}
	o.said, _, _ = strings.Cut(stderr.String(), "\n")
	for line := range strings.Lines(stdout.String()) {
		if n, ok := strings.CutPrefix(strings.TrimSpace(line), countPrefix); ok {
			if v, err := strconv.Atoi(n); err == nil {
				o.events = v
			}
		}
	}
	return o
}

// limited keeps the first bytes of what a tool prints.
type limited struct {
	b    *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	k := min(len(p), l.left)
	l.left -= k
	l.b.Write(p[:k])
	return len(p), nil
}

// count is how many events the first tool that tells reads, −1 for none.
func (b *bench) count(ctx context.Context, data []byte) int {
	for _, t := range b.tools {
		if o := b.one(ctx, t, data); o.events >= 0 {
			return o.events
		}
	}
	return -1
}

// lossMax is how many events one flipped bit may cost: its own, and the one
// that it was joined with.
const lossMax = 2

// feed gives the cases to all tools. Where whole is not negative, it is how many
// events the undamaged file has: a tool that counts them and refuses a case has
// lost them all.
func (b *bench) feed(ctx context.Context, suite, name string, whole int, cases [][]byte) {
	for _, t := range b.tools {
		r := row{suite: suite, name: name, tool: t.name}
		counts, silent := false, 0
		for _, c := range cases {
			if ctx.Err() != nil {
				return
			}
			o := b.one(ctx, t, c)
			r.add(o)
			if whole >= 0 && o.events >= 0 && whole-o.events > lossMax {
				r.lost++
			}
			if counts = counts || o.events >= 0; o.refused && o.events < 0 {
				silent++
			}
		}
		if counts && whole > lossMax {
			r.lost += silent
		}
		fmt.Fprintf(b.log, "%s, %s, %s: %d files, %d crashed, %d hung, %d refused, %d lost\n", suite, name, t.name,
			r.files, r.crashed, r.hung, r.refused, r.lost)
		b.rows = append(b.rows, r)
	}
}
