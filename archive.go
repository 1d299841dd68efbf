package strata

import (
	"archive/tar"
	"archive/zip"
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/llmstrata/strata/internal/atomicfile"
	"github.com/llmstrata/strata/internal/decompress"
	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/table"
	"github.com/llmstrata/strata/trace"
)

// An archive unpacks to at most so many times its size, and to so many bytes; the traces in it, compressed or not,
// have limits of their own.
const (
	archiveRatio = 1000
	archiveBytes = 1 << 40
	archiveFiles = 100_000
)

// openArchive reads the traces of an archive of several files, a zip or a tar, as those of a directory. It reports
// whether the file is one: a zip of one file is read as a compressed one is.
func (o *Options) openArchive(ctx context.Context, path string) (rec *Recording, is bool, err error) {
	u, is, err := o.unpack(ctx, path)
	if !is || err != nil {
		return nil, is, err
	}
	defer u.remove()
	of := *o
	of.archives = map[string]string{u.dir: path}
	if rec, err = of.openDir(ctx, u.dir); err == nil {
		rec.Name = path
		return rec, true, nil
	}
	if errors.Is(err, trace.ErrNoTrace) {
		return nil, true, u.notATrace(path)
	}
	return nil, true, fmt.Errorf("strata: %w", err)
}

// part is a file with the archive that it was unpacked from.
func (o *Options) part(f trace.File) Part {
	p := Part{File: f}
	for dir, archive := range o.archives {
		if member, is := strings.CutPrefix(f.Path, dir+string(filepath.Separator)); is {
			p.Archive, p.member = archive, member
		}
	}
	return p
}

// open reads one file of so many that are read at once. Errors call it as its user does.
func (o *Options) open(ctx context.Context, f trace.File, atOnce int) (p Part, err error) {
	p = o.part(f)
	options := o.of(p.Shown(), atOnce)
	options.Shown = p.Shown()
	if p.Trace, err = trace.Open(ctx, f.Path, options); err != nil && p.Archive != "" {
		err = shownError{err, f.Path, p.Shown()}
	}
	return p, err
}

// shownError calls a file as its user does.
type shownError struct {
	error
	path, shown string
}

func (e shownError) Error() string { return strings.ReplaceAll(e.error.Error(), e.path, e.shown) }
func (e shownError) Unwrap() error { return e.error }

// splitMember cuts a path that is no file, such as x.zip:run/rank0.json.gz, into archive and member, "" for others.
func splitMember(path string) (archive, member string) {
	if _, err := os.Lstat(path); err == nil {
		return "", ""
	}
	for i := range path {
		if path[i] == ':' && i+1 < len(path) {
			if info, err := os.Stat(path[:i]); err == nil && info.Mode().IsRegular() {
				return path[:i], filepath.Clean(filepath.FromSlash(path[i+1:]))
			}
		}
	}
	return "", ""
}

// unpack writes the traces of an archive, or these members of it, into a directory that the caller removes. It reports
// whether the file is one; with members so is a zip of one file.
func (o *Options) unpack(ctx context.Context, path string, members ...string) (u *unpacker, is bool, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() { // a pipe can be opened once only
		return nil, false, nil
	}
	f, err := atomicfile.Open(path)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	least := 2
	if len(members) > 0 {
		least = 1
	}
	each, err := membersOf(f, info.Size(), least)
	if err != nil || each == nil {
		return nil, false, nil // what is wrong with it, the reader of one file says
	}
	dir, err := os.MkdirTemp("", "strata-archive-")
	if err != nil {
		return nil, true, err
	}
	gone := atomicfile.Temporary(dir)
	u = &unpacker{ctx: ctx, dir: dir, members: members, left: min(archiveBytes, archiveRatio*info.Size()),
		formats: o.formats(), remove: func() { os.RemoveAll(dir); gone() }}
	if err := each(u.take); err != nil {
		u.remove()
		return nil, true, fmt.Errorf("strata: %s: %w", path, err)
	}
	for _, m := range members {
		if info, err := os.Stat(filepath.Join(dir, m)); err != nil || !info.Mode().IsRegular() || !filepath.IsLocal(m) {
			u.remove()
			return nil, true, fmt.Errorf("strata: %s:%s: %w; the archive has %s", path, m, trace.ErrNoTrace,
				cmp.Or(u.first, "none"))
		}
	}
	if u.taken == 0 {
		u.remove()
		return nil, true, u.notATrace(path)
	}
	return u, true, nil
}

// notATrace says that the archive at path holds no trace.
func (u *unpacker) notATrace(path string) error {
	if u.inner != "" {
		return fmt.Errorf("strata: %s: %w: %s is an archive two archives deep; unpack one of them", path,
			trace.ErrFormat, u.inner)
	}
	return fmt.Errorf("strata: %s: %w: a zip or tar archive of %s, %w", path, trace.ErrFormat,
		table.Counted(u.seen, "file", "files"), trace.ErrNoTrace)
}

// eachMember calls f for the files of an archive, with their names.
type eachMember func(f func(name string, content io.Reader) error) error

// membersOf returns how to go over the files of an archive; nil where it is none, or a zip of fewer files than least
// that are neither compressed nor archives.
func membersOf(f *os.File, size int64, least int) (eachMember, error) {
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return nil, err
	}
	head = head[:n]
	if bytes.HasPrefix(head, []byte("PK\x03\x04")) {
		return zipMembers(f, size, least)
	}
	packed, err := decompress.NewReader(f, decompress.Limits{MaxBytes: archiveBytes, MaxRatio: archiveRatio})
	if err != nil {
		return nil, err
	}
	in := bufio.NewReader(packed)
	if begin, _ := in.Peek(512); !isTar(begin) {
		return nil, packed.Close()
	}
	return func(take func(string, io.Reader) error) error {
		defer packed.Close()
		t := tar.NewReader(in)
		for {
			h, err := t.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return err
			}
			if h.Typeflag != tar.TypeReg {
				continue
			}
			if err := take(h.Name, t); err != nil {
				return err
			}
		}
	}, nil
}

// isTar reports whether a file begins with the header of a tar.
func isTar(head []byte) bool {
	const at = 257
	return len(head) >= 512 && bytes.HasPrefix(head[at:], []byte("ustar"))
}

func zipMembers(f *os.File, size int64, least int) (eachMember, error) {
	z, err := zip.NewReader(f, size)
	if err != nil {
		return nil, err
	}
	files, packed := 0, false
	for _, m := range z.File {
		if m.Mode().IsRegular() {
			files, packed = files+1, packed || framework.Packed(m.Name)
		}
	}
	if files < least && !packed { // one of these is unpacked before it is read
		return nil, nil
	}
	return func(take func(string, io.Reader) error) error {
		for _, m := range z.File {
			if !m.Mode().IsRegular() {
				continue
			}
			r, err := m.Open()
			if err != nil {
				return err
			}
			err = errors.Join(take(m.Name, r), r.Close())
			if err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// unpacker writes trace files, and the files that belong to them, into a directory.
type unpacker struct {
	ctx         context.Context
	dir         string
	members     []string // what is taken, with any name; none: all traces
	first       string   // trace
	inner       string   // archive that is too deep
	within      string   // the archive that is unpacked now, "" for the outermost
	left        int64
	formats     []trace.Format
	seen, taken int
	remove      func()
}

func (u *unpacker) take(name string, content io.Reader) error {
	name = filepath.FromSlash(name)
	if u.seen++; u.seen > archiveFiles {
		return fmt.Errorf("more than %d files", archiveFiles)
	}
	if err := u.ctx.Err(); err != nil {
		return err
	}
	if !filepath.IsLocal(name) || strings.HasPrefix(filepath.Base(name), ".") {
		return nil
	}
	is, beside := false, framework.BareName(name) == framework.ServerArgsFile ||
		filepath.Base(name) == framework.ConfigFile
	for _, f := range u.formats {
		is = is || framework.Ends(strings.ToLower(name), f.Suffixes)
	}
	if is && !beside {
		u.first = cmp.Or(u.first, name)
	}
	if len(u.members) > 0 {
		named := slices.Contains(u.members, filepath.Clean(name))
		is, beside = named, beside && !named
	}
	if !is && !beside {
		return u.open(name, content)
	}
	if is && !beside {
		u.taken++
	}
	return u.write(filepath.Join(u.dir, name), content)
}

// write copies a file, within the limit of all.
func (u *unpacker) write(path string, content io.Reader) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	var n int64
	err := atomicfile.Write(path, 0o600, func(w io.Writer) (err error) {
		n, err = io.Copy(w, io.LimitReader(content, u.left+1))
		return err
	})
	if u.left -= n; err == nil && u.left < 0 {
		err = fmt.Errorf("%w: it unpacks to more than %d times its size", trace.ErrLimit, archiveRatio)
	}
	return err
}

// open takes the traces of an archive in the archive, which are named as if it were a directory. Other files are none.
func (u *unpacker) open(name string, content io.Reader) error {
	if !framework.Packed(name) {
		return nil
	}
	if u.within != "" {
		u.inner = name
		return nil
	}
	path := filepath.Join(u.dir, ".inner")
	if err := u.write(path, content); err != nil {
		return err
	}
	f, err := atomicfile.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	defer os.Remove(path)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	each, err := membersOf(f, info.Size(), 1)
	if err != nil || each == nil {
		return nil // it holds no trace that can be read
	}
	u.within = name
	defer func() { u.within = "" }()
	if err := each(func(inner string, content io.Reader) error {
		return u.take(filepath.ToSlash(name)+"/"+inner, content)
	}); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
