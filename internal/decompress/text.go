package decompress

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	// probeText is how much text a later member must give to be entered, unless it
	// ends before: compressed data that happens to hold a header's bytes is recognised by
	// then, since the codes of a block are checked, and a wrong one rarely holds
	// for a thousand symbols.
	probeText = 16 << 10
	// probeInput is enough compressed data for that: deflate never grows by much.
	probeInput = 64 << 10
	// maxTries bounds how often what looks like a member is entered in vain, so
	// that a file made of headers costs no more than one of data. By chance such
	// bytes occur once in some hundred gigabytes.
	maxTries = 1000
	// gzipHeader is the length of the header's fixed part.
	gzipHeader = 10
)

// Break is in the text where some of it is missing. Three quotes: whatever
// comes before them in a JSON document, what they end is no JSON, so that what
// is on both sides of a break is never read as one event.
const Break = `"""`

// Text reads what a Reader gives. At damage it learns how much is lost.
type Text struct {
	// Resume goes on with the next member of a gzip stream, after a [Break]. The
	// damage is returned at the end.
	Resume bool

	d       *Reader
	pending string
	damage  *Damage // the first
	err     error
}

// NewText returns a Text of d.
func NewText(d *Reader) *Text { return &Text{d: d} }

// Read implements io.Reader.
func (t *Text) Read(p []byte) (int, error) {
	if t.pending != "" {
		n := copy(p, t.pending)
		t.pending = t.pending[n:]
		return n, nil
	}
	if t.err != nil {
		return 0, t.err
	}
	n, err := t.d.Read(p)
	if err == nil {
		return n, nil
	}
	if damage := new(Damage); errors.As(err, &damage) {
		if t.damage == nil {
			t.damage = damage
		} else {
			t.damage.Later = append(t.damage.Later, damage)
		}
		if t.Resume && t.d.resume(damage) {
			t.pending = Break
			return n, nil
		}
		err = io.EOF
	}
	t.err = err
	if t.damage != nil && err == io.EOF {
		t.err = t.damage
		if _, e := io.Copy(io.Discard, &t.d.src); e == nil {
			t.damage.Total = t.d.src.n
		}
	}
	return n, t.err
}

// enter decodes the gzip stream that begins with front, goes on with what was not
// read yet, and is at an offset of the compressed data.
func (d *Reader) enter(front []byte, offset int64) error {
	d.front = bytes.NewReader(front)
	z, err := newGzipReader(io.MultiReader(d.front, &d.src))
	d.used = func() int64 { return offset + z.Offset() }
	d.gzip, d.dec, d.begun = z, z, offset
	return err
}

// resume enters the first member after the damage that can be decoded, and
// reports whether there is one.
func (d *Reader) resume(damage *Damage) bool {
	if d.gzip == nil {
		return false
	}
	held, at := d.gzip.Held()
	at += d.begun
	front := bytes.NewReader(slices.Concat(held, rest(d.front)))
	br := bufio.NewReaderSize(io.MultiReader(front, &d.src), sourceBuffer)
	skip := 1 // the member that failed begins at the first byte held, or before
	if w, _ := br.Peek(gzipHeader); errors.Is(damage.Err, errHeader) {
		if skip = 0; isNearlyGzip(w) {
			copy(w, gzipHead)
		}
	}
	for d.tries < maxTries {
		n, _ := br.Discard(skip)
		at += int64(n)
		w, _ := br.Peek(probeInput)
		if len(w) < gzipHeader {
			return false
		}
		if skip = bytes.Index(w, gzipHead); skip > 0 {
			continue
		} else if skip < 0 { // its first bytes may be at the end
			skip = len(w) - len(gzipHead) + 1
			continue
		}
		if skip = 1; at < damage.At { // it was decoded before, as something else
			d.tries++
		}
		if decodes(w) {
			buffered, _ := br.Peek(br.Buffered())
			damage.Next = at
			d.err = nil
			return d.enter(slices.Concat(buffered, rest(front)), at) == nil
		}
		d.tries++
	}
	return false
}

// maxPadding bounds the zeros after the last member, with which tapes and block
// devices fill their last block.
const maxPadding = 256 << 10

// padded reports whether nothing but zeros is left of the compressed data.
func (d *Reader) padded() bool {
	held, _ := d.gzip.Held()
	more, err := io.ReadAll(io.LimitReader(&d.src, maxPadding+1))
	left := append(rest(d.front), more...)
	d.front = bytes.NewReader(left)
	return err == nil && len(more) <= maxPadding && len(bytes.Trim(held, "\x00")) == 0 &&
		len(bytes.Trim(left, "\x00")) == 0
}

// rest returns what r has not read.
func rest(r *bytes.Reader) []byte {
	b := make([]byte, r.Len())
	r.Read(b)
	return b
}

// decodes reports whether a gzip member begins with w, which is the end of the
// input if it is shorter than probeInput.
func decodes(w []byte) bool {
	z, err := newGzipReader(bytes.NewReader(w))
	if err != nil {
		return false
	}
	n, err := io.CopyN(io.Discard, z, probeText)
	return err == nil || err == io.EOF || n > 0 && err == io.ErrUnexpectedEOF && len(w) < probeInput
}

// all returns d and what came later.
func (d *Damage) all() []*Damage { return append([]*Damage{d}, d.Later...) }

// Lost returns how many compressed bytes were not decoded, all damage together;
// those of the broken part that seemed to be right are not among them.
func (d *Damage) Lost() (n int64) {
	for _, x := range d.all() {
		switch {
		case x.Next > 0:
			n += max(0, x.Next-x.At)
		case d.Total > 0 && !errors.Is(x.Err, io.ErrUnexpectedEOF):
			n += d.Total - x.At
		}
	}
	return n
}

// Extent says how much is lost, in a phrase.
func (d *Damage) Extent() string {
	all := d.all()
	last := all[len(all)-1]
	lost, missing := d.Lost(), last.Next == 0 && errors.Is(last.Err, io.ErrUnexpectedEOF)
	text := fmt.Sprintf("%d of %d compressed bytes (%.1f%%) are lost", lost, d.Total,
		100*float64(lost)/float64(max(1, d.Total)))
	switch {
	case d.Total == 0:
		return fmt.Sprintf("nothing after compressed byte %d is read", last.At)
	case lost == 0 && missing:
		text = fmt.Sprintf("all %d compressed bytes are read", d.Total)
	case lost == 0:
		text = fmt.Sprintf("all %d compressed bytes are read, and some of the text is wrong", d.Total)
	case last.Next > 0:
		text += ", later members are read"
	}
	if missing {
		text += ", how many are missing is not known"
	}
	return text
}
