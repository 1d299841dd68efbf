package trace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/internal/scan"
)

// Open loads the torch.profiler trace at path: plain JSON, gzip or zstd, told
// apart by content, never by file name. Everything that could be read of a
// damaged file is kept, and [Trace.Health] says what was lost; see [WithStrict].
// A file that is no trace is refused with [ErrFormat] and what it seems to be.
func Open(ctx context.Context, path string, opts ...Option) (*Trace, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("trace: %s is a directory: pick a file of it with Discover", path)
	}
	t, err := read(ctx, f, path, info.Size(), opts)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Read loads a trace from r; see [Open]. It returns soon after ctx ends, even if
// r's Read does not; r must then be left alone until that does.
func Read(ctx context.Context, r io.Reader, opts ...Option) (*Trace, error) {
	var size int64
	if l, ok := r.(interface{ Len() int }); ok {
		size = int64(l.Len())
	}
	return read(ctx, r, "", size, opts)
}

// input is the source of a load: decompressed, sniffed, its progress known.
type input struct {
	io.Reader
	dec  *decompress.Reader
	raw  *countingReader
	size int64 // of the compressed input, 0 if unknown
}

func (in *input) progress() (done, total int64) { return in.raw.n.Load(), in.size }

// sniffed is how many bytes are looked at to tell a trace from something else.
const sniffed = 4096

// openInput decompresses r and refuses what cannot be a trace.
func openInput(r io.Reader, size int64, cfg *config) (*input, error) {
	in := &input{raw: &countingReader{r: r}, size: size}
	var err error
	in.dec, err = decompress.NewReader(in.raw, decompress.Limits{MaxBytes: cfg.limits.InputBytes, MaxRatio: cfg.limits.Ratio})
	if err != nil {
		return nil, err
	}
	head := make([]byte, sniffed)
	n := 0
	for n < len(head) && err == nil {
		var k int
		k, err = in.dec.Read(head[n:])
		n += k
	}
	var damage *decompress.Damage
	if err != nil && err != io.EOF && (!errors.As(err, &damage) || n == 0) {
		in.dec.Close()
		if damage != nil {
			return nil, fmt.Errorf("trace: %w: %w", ErrFormat, err)
		}
		return nil, limitError(err)
	}
	if what := scan.Sniff(head[:n]); what != "" {
		in.dec.Close()
		return nil, fmt.Errorf("trace: %w: it seems to be %s", ErrFormat, what)
	}
	in.Reader = io.MultiReader(bytes.NewReader(head[:n]), in.dec)
	return in, nil
}

func (c *config) scanConfig() scan.Config {
	l := &c.limits
	return scan.Config{Strict: c.strict, MaxEvent: l.EventBytes, MaxName: l.NameBytes, MaxDepth: l.Depth, MaxMeta: l.MetaBytes, Workers: c.procs}
}

// read loads a trace from r, which is the file at path if that is not empty.
func read(ctx context.Context, r io.Reader, path string, size int64, opts []Option) (*Trace, error) {
	cfg := newConfig(opts)
	r, release := interruptible(ctx, r)
	defer release()
	in, err := openInput(r, size, &cfg)
	if err != nil {
		return nil, err
	}
	defer in.dec.Close()
	b := NewBuilder()
	k := newSink(&cfg, b, cfg.procs, in.progress)
	res, err := scan.Parallel(ctx, in, cfg.scanConfig(), k)
	damage, err := scanError(err, cfg.strict)
	if err != nil {
		return nil, err
	}
	if !res.HasEvents || k.rows == 0 && len(b.counts) == 0 && res.Losses.Total() > 0 && len(res.Metas) == 0 && !res.Truncated {
		return nil, fmt.Errorf("trace: %w: it seems to be %s", ErrFormat, res.Describe())
	}
	k.finish()
	reportLosses(b, res)
	if damage != nil {
		b.Lose(LossBadCompression, damage.Offset)
		b.LoseDetail(LossBadCompression, 0, damage.Err.Error())
	}
	meta, err := kinetoMeta(b, res.Metas, cfg.strict)
	if err != nil {
		return nil, err
	}
	meta.Path = path
	b.setRank(&meta, k.rank)
	b.SetMeta(meta)
	k.tell()
	return b.FinishContext(ctx)
}

// scanError sorts a scan's error into damage that a lenient load survives and
// an error to return.
func scanError(err error, strict bool) (*decompress.Damage, error) {
	var damage *decompress.Damage
	var syntax *scan.SyntaxError
	switch {
	case err == nil || err == io.EOF:
		return nil, nil
	case errors.As(err, &damage):
		if strict {
			return nil, &SyntaxError{Offset: damage.Offset, Err: damage}
		}
		return damage, nil
	case errors.As(err, &syntax):
		return nil, &SyntaxError{Offset: syntax.Offset, Path: syntax.Path, Err: syntaxCause(syntax.Err)}
	}
	return nil, limitError(err)
}

// syntaxCause makes a scan's cause match this package's sentinels.
func syntaxCause(err error) error {
	switch {
	case errors.Is(err, scan.ErrTruncated):
		return ErrTruncated
	case errors.Is(err, scan.ErrLimit):
		return fmt.Errorf("%w: %w", ErrLimit, err)
	}
	return err
}

// lossReasons says how a scan's losses appear in the health report.
var lossReasons = map[scan.Reason]LossReason{
	scan.LostSyntax: LossBadEvent, scan.LostTruncated: LossTruncated, scan.LostTooLarge: LossLimit,
	scan.LostTooDeep: LossLimit, scan.LostTime: LossBadTime, scan.LostNumber: LossBadTime,
	scan.LostNoPhase: LossBadEvent, scan.LostNotObject: LossBadEvent, scan.LostMetadata: LossBadEvent,
	scan.LostGarbage: LossBadEvent, scan.LostLongName: LossLimit, scan.RepairedDuration: LossRepaired,
	scan.RepairedComma: LossRepaired, scan.RepairedEmpty: LossRepaired, scan.RepairedQuote: LossRepaired,
}

func reportLosses(b *Builder, res *scan.Result) {
	for r := scan.ReasonNone + 1; int(r) < len(res.Losses.Count); r++ {
		n := res.Losses.Count[r]
		if n == 0 {
			continue
		}
		l := b.losses.get(lossReasons[r])
		l.Bytes += res.Losses.Bytes[r]
		b.LoseDetail(lossReasons[r], n, r.String())
	}
	for _, x := range res.Losses.First {
		l := b.losses.get(lossReasons[x.Reason])
		if len(l.Offsets) < maxLossOffsets {
			l.Offsets = append(l.Offsets, x.Offset)
		}
	}
	if res.Truncated && res.Losses.Count[scan.LostTruncated] == 0 {
		b.Lose(LossTruncated, res.Bytes)
		b.LoseDetail(LossTruncated, 0, "the document is not closed")
	}
	if res.Docs > 1 {
		b.LoseDetail(LossRepaired, int64(res.Docs-1), "further JSON documents in the same file, read as one trace")
	}
}
