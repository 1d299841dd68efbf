package perfetto

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/internal/scan"
)

// copier writes events of a JSON trace, and the values beside them, into a new
// document.
type copier struct {
	o     CopyOptions
	red   *redactor // nil where nothing is hidden
	wants func(*scan.Event) bool

	out          *bufio.Writer
	kept         int64
	dropped      int64
	bytes        int64
	environments int
	removed      []string
	err          error
}

// rewrite makes dst from src: the output of first, then the wanted events and
// the values beside them. Last may refuse the result.
func (c *copier) rewrite(ctx context.Context, src, dst string, first func(*bufio.Writer) error,
	last func() error) error {
	found, err := c.o.rewrite(ctx, src, dst, func(in *source, out *bufio.Writer) error {
		c.out = out
		c.text("{\n\"traceEvents\": [\n")
		if first != nil {
			if err := first(out); err != nil {
				return fmt.Errorf("%s: %w", dst, err)
			}
		}
		in.text.Resume = true // as the trace was loaded
		sc := scan.NewScanner(in, scan.Config{})
		if err := c.events(sc); err != nil {
			return fmt.Errorf("perfetto: %s: %w", src, err)
		}
		metas, removed := c.o.metas(sc.Result().Metas)
		if c.red != nil {
			c.red.texts([]byte(`{"":0` + string(metas) + "}"))
		}
		c.removed = removed
		c.text("\n]")
		c.raw(metas)
		c.text("\n}\n")
		if err := last(); err != nil {
			return err
		}
		return c.err
	})
	c.removed = removals(c.removed, c.environments, found)
	return err
}

// events copies the events that are wanted. Damage at the end of the file is the
// end of what can be copied.
func (c *copier) events(sc *scan.Scanner) error {
	sep := ""
	for {
		ev, err := sc.Next()
		if err != nil {
			var damage *decompress.Damage
			if err != io.EOF && !errors.As(err, &damage) {
				return err
			}
			return nil
		}
		raw := ev.Raw
		switch {
		case !c.wants(ev):
			raw = nil
		case c.red != nil:
			if raw = c.red.event(ev); raw != nil {
				c.red.texts(raw)
			}
		case !c.o.KeepMetadata:
			var had bool
			if raw, had = withoutEnvironment(raw); had {
				c.environments++
			}
		}
		if raw == nil {
			c.dropped++
			continue
		}
		c.text(sep)
		sep = ",\n"
		c.raw(raw)
		c.kept++
	}
}

// raw writes whole events or values. Each byte that is no UTF-8 becomes U+FFFD, as the reader takes it: viewers refuse
// it, though it is frequent in names.
func (c *copier) raw(b []byte) {
	if !utf8.Valid(b) {
		b = []byte(string([]rune(string(b))))
	}
	if c.err == nil {
		var n int
		n, c.err = c.out.Write(b)
		c.bytes += int64(n)
	}
}

func (c *copier) text(s string) { c.raw([]byte(s)) }
