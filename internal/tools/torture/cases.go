package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/llmstrata/strata/internal/gen/shapes"
)

// suite runs one suite.
func (b *bench) suite(ctx context.Context, name string, traces []string) error {
	switch name {
	case "cuts", "flips":
		for _, path := range traces {
			if err := b.damage(ctx, name, path); err != nil {
				return err
			}
		}
		return nil
	case "json":
		return b.json(ctx)
	case "bombs":
		for _, c := range bombs() {
			b.feed(ctx, name, c.name, -1, [][]byte{c.make()})
		}
		return ctx.Err()
	case "sizes":
		return b.sizes(ctx)
	}
	return fmt.Errorf("no suite %q: cuts, flips, json, bombs or sizes", name)
}

// damage cuts a trace or flips its bits, plain and compressed.
func (b *bench) damage(ctx context.Context, suite, path string) error {
	raw, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	forms := map[string][]byte{"plain": raw}
	if z, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
		plain, err := io.ReadAll(z)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		forms = map[string][]byte{"plain": plain, "gzip": raw}
	}
	for _, form := range []string{"plain", "gzip"} {
		data := forms[form]
		if data == nil {
			continue
		}
		random := rand.New(rand.NewPCG(1, uint64(len(data))))
		whole := -1
		if suite == "flips" && form == "plain" {
			whole = b.count(ctx, data)
		}
		var cases [][]byte
		for range b.n {
			c := bytes.Clone(data)
			if at := random.IntN(len(c)); suite == "cuts" {
				c = c[:at]
			} else {
				c[at] ^= 1 << random.IntN(8)
			}
			cases = append(cases, c)
		}
		b.feed(ctx, suite, filepath.Base(path)+" "+form, whole, cases)
	}
	return ctx.Err()
}

// bomb is a small file that is large work.
type bomb struct {
	name string
	make func() []byte
}

func bombs() []bomb {
	packed := func(unit string, times int, end string) func() []byte {
		return func() []byte {
			var z bytes.Buffer
			w := gzip.NewWriter(&z)
			block := strings.Repeat(unit, max(1, (1<<20)/len(unit)))
			io.WriteString(w, `{"traceEvents": [`)
			for range times {
				io.WriteString(w, block)
			}
			io.WriteString(w, end)
			w.Close()
			return z.Bytes()
		}
	}
	plain := func(front, unit string, times int) func() []byte {
		return func() []byte { return []byte(front + strings.Repeat(unit, times)) }
	}
	return []bomb{
		{"1.5 GB of spaces in gzip", packed(" ", 1500, "]}")},
		{"1.2 GB of equal events in gzip", packed(`{"ph":"X","cat":"kernel","name":"k","ts":1,"dur":2},`, 1200, "]}")},
		{"a million brackets as an event", plain(`{"traceEvents": [`, "[", 1_000_000)},
		{"a million brackets as metadata", plain(`{"x": `, "[", 1_000_000)},
		{"ten million empty events", plain(`{"traceEvents": [`, "{},", 10_000_000)},
		{"a name of 100 MB", plain(`{"traceEvents": [{"ph":"X","name":"`, "n", 100_000_000)},
		{"ten million quotes", plain("", `"`, 10_000_000)},
		{"ten million escaped quotes", plain("", `\"`, 10_000_000)},
	}
}

// sizes measures each shape at two sizes.
func (b *bench) sizes(ctx context.Context) error {
	const times = 4
	for _, s := range shapes.Shapes() {
		small, large := s.Write(b.size), s.Write(times*b.size)
		for _, t := range b.tools {
			x, y := b.one(ctx, t, small), b.one(ctx, t, large)
			r := growthRow{shape: s.Name, tool: t.name, small: x.cpu, large: y.cpu, hung: x.hung || y.hung,
				crashed: x.crashed || y.crashed}
			if x.cpu > 0 {
				r.exponent = math.Log(y.cpu.Seconds()/x.cpu.Seconds()) / math.Log(times)
			}
			fmt.Fprintf(b.log, "%s %s: %.2f s, %.2f s\n", s.Name, t.name, x.cpu.Seconds(), y.cpu.Seconds())
			b.growth = append(b.growth, r)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}
