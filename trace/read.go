package trace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/internal/scan"
	"github.com/llmstrata/strata/trace/event"
)

// Open loads the trace at path, of any of the formats in o: plain or compressed,
// recognised by content, never by file name; a pipe is read once. Everything
// that could be read of a damaged file is kept, and [Trace.Health] says what was
// lost; see [Options.Strict]. A file that is no trace is refused with [ErrFormat]
// and what it seems to be.
func Open(ctx context.Context, path string, o Options) (*Trace, error) {
	f, err := openFile(ctx, path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, fmt.Errorf("%s: trace: %w: it is a directory; name a file in it", path, ErrFormat)
	}
	return load(ctx, f, path, info.Size(), info.Mode().IsRegular(), o)
}

// Read loads a trace from r; see [Open]. It returns soon after ctx ends, even if
// r's Read does not; r must then be left alone until that does.
func Read(ctx context.Context, r io.Reader, o Options) (*Trace, error) {
	var size int64
	if l, ok := r.(interface{ Len() int }); ok {
		size = int64(l.Len())
	}
	return load(ctx, r, "", size, false, o)
}

// load reads a trace from r, which is the file at path if that is not empty, a
// regular one if plain.
func load(ctx context.Context, r io.Reader, path string, size int64, plain bool, o Options) (*Trace, error) {
	r, release := interruptible(ctx, r)
	defer release()
	limits := o.Limits.withDefaults()
	in, err := newInput(r, path, size, &limits)
	if err != nil {
		return nil, named(path, err)
	}
	defer in.dec.Close()
	in.plain = plain
	defer func() { in.removeCopy() }()
	for list := o.formats(); ; {
		f, err := formatOf(list, in)
		if err != nil {
			return nil, named(path, in.explain(err))
		}
		o.input = in
		t, err := f.Open(ctx, in, o)
		if !errors.Is(err, ErrOtherFormat) {
			if err == nil {
				t.meta.shown = o.Shown
			}
			return t, err
		}
		list = slices.DeleteFunc(slices.Clone(list), func(x Format) bool { return x.Name == f.Name })
	}
}

// named puts the path before an error, if there is one.
func named(path string, err error) error {
	if path == "" {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}

func (c *config) scanConfig() scan.Config {
	l := &c.limits
	return scan.Config{Strict: c.strict, MaxEvent: l.EventBytes, MaxName: l.NameBytes, MaxDepth: l.Depth,
		MaxMeta: l.MetaBytes, Workers: c.procs}
}

// openKineto reads torch.profiler JSON.
func openKineto(ctx context.Context, in *Input, o Options) (*Trace, error) {
	t, err := readKineto(ctx, in, &o)
	if err != nil {
		return nil, named(in.Name, err)
	}
	return t, nil
}

func readKineto(ctx context.Context, in *Input, o *Options) (*Trace, error) {
	cfg := newConfig(o)
	b := newBuilder(o)
	k := newSink(&cfg, b, cfg.procs, in.progress)
	in.text.Resume = !cfg.strict
	res, err := scan.Parallel(ctx, in.R, cfg.scanConfig(), k)
	damage, err := scanError(err, cfg.strict)
	if err != nil {
		return nil, err
	}
	if empty(res, len(b.counts) > 0) {
		return nil, noEvents(res, damage)
	}
	if len(b.counts) == 0 && res.Losses.Count[scan.LostTooDeep] > 0 {
		return nil, fmt.Errorf("trace: %w: no events, only arrays nested deeper than any trace's", ErrFormat)
	}
	k.finish()
	b.noteUnknownPhases()
	source := b.chromeSource(res.Metas)
	reportLosses(b, res, source)
	if damage != nil {
		reportDamage(b, damage)
	}
	meta, err := kinetoMeta(b, res.Metas, cfg.strict)
	if err != nil {
		return nil, err
	}
	meta.Path, meta.Source, meta.Counts = in.Name, source, b.countsByPhase()
	b.adopt(source)
	b.setRank(&meta, k.rank)
	b.Meta = meta
	k.report()
	return b.Finish(ctx)
}

// otherPhases are those of the trace event format, beside the counted ones, that say nothing of GPU work.
const otherPhases = "POD(vVac)STpF"

// noteUnknownPhases counts the events whose phase is none of the format's: a newer recorder's, or damage.
func (b *Builder) noteUnknownPhases() {
	for k, n := range b.counts {
		if k[0] != "" && !strings.Contains(countedPhases+otherPhases, k[0]) {
			b.losses.get(event.UnknownPhase).Count += n
		}
	}
}

// empty reports whether a scan found no place for events, or nothing but damage there.
func empty(res *scan.Result, events bool) bool {
	return !res.HasEvents || !events && res.Losses.Total() > 0 && len(res.Metas) == 0 && !res.Truncated
}

// noEvents says why a scan found no events: their front is cut off or damaged,
// or the file is something else.
func noEvents(res *scan.Result, damage *decompress.Damage) error {
	switch {
	case damage != nil:
		return fmt.Errorf("trace: %w before its events: %w", ErrDamaged, damage)
	case !res.IsTrace():
		return fmt.Errorf("trace: %w: it seems to be %s", ErrFormat, res.Describe())
	case res.Truncated:
		return fmt.Errorf("trace: cut off after %d bytes, before its events: %w", res.Bytes, errTruncated)
	case res.Losses.Total() > 0:
		return fmt.Errorf("trace: %w: a trace's metadata, broken at byte %d, and no readable event after it",
			ErrDamaged, res.Losses.First[0].Offset)
	}
	return fmt.Errorf("trace: %w: it seems to be %s", ErrFormat, res.Describe())
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
			return nil, &syntaxError{Offset: damage.Offset, Err: damage}
		}
		return damage, nil
	case errors.As(err, &syntax):
		return nil, &syntaxError{Offset: syntax.Offset, Path: syntax.Path, Err: syntaxCause(syntax.Err)}
	}
	return nil, limitError(err)
}

// reportDamage says where compressed data is damaged and how much that costs.
func reportDamage(b *Builder, d *decompress.Damage) {
	b.lose(event.BadCompression, d.Offset)
	for _, x := range d.Later {
		b.lose(event.BadCompression, x.Offset)
	}
	b.LoseDetail(event.BadCompression, 0, d.Err.Error()+", "+d.Extent())
	l := b.losses.get(event.BadCompression)
	l.Bytes, l.OfBytes = d.Lost(), d.Total
}

// syntaxCause makes a scan's cause match this package's sentinels.
func syntaxCause(err error) error {
	switch {
	case errors.Is(err, scan.ErrTruncated):
		return errTruncated
	case errors.Is(err, scan.ErrLimit):
		return fmt.Errorf("%w: %w", ErrLimit, err)
	}
	return err
}

// lossReasons says how a scan's losses appear in the health report.
var lossReasons = map[scan.Reason]event.Loss{
	scan.LostSyntax: event.BadEvent, scan.LostTruncated: event.Truncated, scan.LostTooLarge: event.Limit,
	scan.LostTooDeep: event.Limit, scan.LostTime: event.BadTime, scan.LostNumber: event.BadTime,
	scan.LostNoPhase: event.BadEvent, scan.LostNotObject: event.BadEvent, scan.LostMetadata: event.BadEvent,
	scan.LostGarbage: event.BadEvent, scan.LostLongName: event.Limit, scan.RepairedDuration: event.Repaired,
	scan.RepairedComma: event.Repaired, scan.RepairedEmpty: event.Repaired, scan.RepairedQuote: event.Repaired,
}

func reportLosses(b *Builder, res *scan.Result, source Source) {
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
		b.lose(event.Truncated, res.Bytes)
		b.LoseDetail(event.Truncated, 0, "the document is not closed")
	}
	if res.Docs > 1 && source != SourceProton { // which writes a document for each stream
		b.LoseDetail(event.Repaired, int64(res.Docs-1), "further JSON documents in the same file, read as one trace")
		b.notes = append(b.notes, Remark{CodeSeveralDocuments, HealthDegraded, int64(res.Docs), fmt.Sprintf(
			"the file holds %d JSON documents, as joined files do, which are read as one trace: times, streams and launches "+
				"of different recordings mix (give the files one by one)", res.Docs),
			[]Area{AffectsEverything}})
	}
}
