package strata_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/internal/demo"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

type member struct {
	name string
	text []byte
}

func zipped(t *testing.T, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, m := range members {
		w, err := z.Create(m.name)
		if err == nil {
			_, err = w.Write(m.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func tarred(t *testing.T, packed bool, members ...member) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	var w *tar.Writer
	if packed {
		w = tar.NewWriter(z)
	} else {
		w = tar.NewWriter(&b)
	}
	for _, m := range members {
		kind := byte(tar.TypeReg)
		if strings.HasSuffix(m.name, "/") {
			kind = tar.TypeDir
		}
		err := w.WriteHeader(&tar.Header{Name: m.name, Mode: 0o600, Size: int64(len(m.text)), Typeflag: kind})
		if err == nil {
			_, err = w.Write(m.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if packed {
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// TestReportsOfArchives: a report of ranks, and one of the lowest of them, names files by what they are called in the
// archive, and its commands open that: what it was unpacked to is gone. It says which rank its tables are of.
func TestReportsOfArchives(t *testing.T) {
	unpacked := t.TempDir()
	t.Setenv("TMPDIR", unpacked)
	path := filepath.Join(t.TempDir(), "ranks.zip")
	data := zipped(t, member{"x-TP-0.trace.json.gz", demo.Trace()}, member{"x-TP-1.trace.json.gz", demo.Trace()})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	rec, err := strata.Open(t.Context(), path, strata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one, err := strata.Analyze(t.Context(), rec, strata.ReportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ranks, err := strata.FindRanks(t.Context(), []string{path}, strata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ranks.Close()
	all, err := ranks.Report(t.Context(), strata.DigestOptions{}, strata.ReportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range map[string]*strata.Report{"one": one, "all": all} {
		if len(r.Findings) == 0 || len(r.Traces) != 1 || r.Traces[0] != path+":x-TP-0.trace.json.gz" {
			t.Errorf("%s: %d findings of %v", name, len(r.Findings), r.Traces)
		}
		for _, f := range r.Findings {
			if file := f.Next[strings.LastIndex(f.Next, " ")+1:]; file != r.Traces[0] && file != path {
				t.Errorf("%s: the next command of %s is %q", name, f.Kind, f.Next)
			}
		}
		var text, doc bytes.Buffer
		if err := r.WriteText(&text, strata.ReportText{All: true}); err != nil {
			t.Fatal(err)
		}
		if err := json.NewEncoder(&doc).Encode(r); err != nil {
			t.Fatal(err)
		}
		if s := text.String() + doc.String(); strings.Contains(s, unpacked) {
			t.Errorf("%s: the report names %s, which is gone", name, unpacked)
		}
		if strings.Contains(text.String(), "in detail ranks.zip:x-TP-0.trace.json.gz") != (r == all) {
			t.Errorf("%s: the report does not say which rank it is of:\n%s", name, text.String())
		}
	}
}

// TestMembersAreToldApart: files of one name in two folders of an archive are called by their folders, too.
func TestMembersAreToldApart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "two.zip")
	data := zipped(t, member{"p/rank0.json.gz", demo.Trace()}, member{"q/rank0.json.gz", demo.Trace()})
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	rec, err := strata.Open(t.Context(), path, strata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, list := range [][]strata.Part{rec.Parts, rec.NotRead} {
		for i := range list {
			got = append(got, list[i].Shown())
		}
	}
	slices.Sort(got)
	if want := []string{path + ":" + filepath.Join("p", "rank0.json.gz"),
		path + ":" + filepath.Join("q", "rank0.json.gz")}; !slices.Equal(got, want) {
		t.Errorf("the files are called %q, want %q", got, want)
	}
}

// TestMembersAreNamed: one file of an archive, whatever it is called, and several of one archive, are read alone; what is
// not in it is refused.
func TestMembersAreNamed(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	path := filepath.Join(t.TempDir(), "two.zip")
	odd := "p/c[1]: x'-TP-1.json.gz"
	data := zipped(t, member{"p/x-TP-0.json.gz", demo.Trace()}, member{odd, demo.Trace()})
	single := filepath.Join(t.TempDir(), "one.zip")
	for p, data := range map[string][]byte{path: data, single: zipped(t, member{odd, demo.Trace()})} {
		if err := os.WriteFile(p, data, 0o600); err != nil {
			t.Fatal(err)
		}
		named := p + ":" + odd
		rec, err := strata.Open(t.Context(), named, strata.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(rec.Parts) != 1 || len(rec.NotRead) > 0 || rec.Name != named {
			t.Errorf("%s: %d parts, %d files not read, called %s", named, len(rec.Parts), len(rec.NotRead), rec.Name)
		}
		ranks, err := strata.FindRanks(t.Context(), []string{named, named}, strata.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if n := ranks.Files(); n != 1 {
			t.Errorf("%s: %d files of ranks, want 1", named, n)
		}
		ranks.Close()
		for _, none := range []string{"none.json", "p", "../x.json"} {
			_, err := strata.Open(t.Context(), p+":"+none, strata.Options{})
			if !errors.Is(err, trace.ErrNoTrace) || !strings.Contains(err.Error(), "the archive has p") {
				t.Errorf("%s: %v", none, err)
			}
		}
	}
	rec, err := strata.OpenFiles(t.Context(), []string{path + ":p/x-TP-0.json.gz", path + ":" + odd}, strata.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(rec.Parts) != 2 || rec.Parts[1].Shown() != path+":"+filepath.FromSlash(odd) {
		t.Errorf("%d parts, the last is %s", len(rec.Parts), rec.Parts[len(rec.Parts)-1].Shown())
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%d files are left: %v", len(left), err)
	}
}

// TestArchivesAreDirectories: archives of ranks, and a trace that is not the first file, are read as directories.
// Limits hold, nothing is left over, and names cannot leave the directory.
func TestArchivesAreDirectories(t *testing.T) {
	testdata.ManyInputs(t)
	t.Setenv("TMPDIR", t.TempDir())
	readme, rank0, rank1 := member{"readme.txt", []byte("hello")}, member{"run/x-TP-0.trace.json.gz", demo.Trace()},
		member{"run/x-TP-1.trace.json.gz", demo.Trace()}
	inner := tarred(t, true, member{"deep/x-TP-0.trace.json.gz", demo.Trace()}, readme, rank1)
	bombed := zipped(t, readme, member{"a.trace.json", []byte(`{"traceEvents":[` + strings.Repeat(" ", 40<<20) + `]}`)})
	for name, c := range map[string]struct {
		text  []byte
		parts int
		err   error
	}{
		"ranks.zip":    {zipped(t, readme, rank0, rank1), 2, nil},
		"second.zip":   {zipped(t, readme, rank0), 1, nil},
		"one.zip":      {zipped(t, member{"x.json", []byte(`{"traceEvents":[{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":2,"args":{"device":0,"stream":7}}]}`)}), 1, nil},
		"ranks.tar":    {tarred(t, false, readme, rank0, rank1), 2, nil},
		"ranks.tar.gz": {tarred(t, true, rank0, rank1, readme), 2, nil},
		"one.tar":      {tarred(t, false, member{"run/", nil}, rank0), 1, nil},
		"packed.zip":   {zipped(t, rank0), 1, nil},
		"nested.zip":   {zipped(t, readme, member{"in.tar.gz", inner}), 2, nil},
		"nested.tar": {tarred(t, false, member{"in.tgz", inner},
			member{"a/in.zip", zipped(t, member{"x-TP-2.trace.json.gz", demo.Trace()})}), 3, nil},
		"deep.zip": {zipped(t, member{"a.zip", zipped(t, member{"in.tgz", inner})}), 0, trace.ErrFormat},
		"none.zip": {zipped(t, readme, member{"b.txt", nil}), 0, trace.ErrNoTrace},
		"away.zip": {zipped(t, readme, member{"../../away.trace.json", demo.Trace()}), 0, trace.ErrNoTrace},
		"bomb.zip": {bombed, 0, trace.ErrLimit},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, c.text, 0o600); err != nil {
			t.Fatal(err)
		}
		rec, err := strata.Open(t.Context(), path, strata.Options{AllRanks: true})
		if c.err != nil {
			if !errors.Is(err, c.err) || !strings.Contains(err.Error(), name) {
				t.Errorf("%s: %v, want %v", name, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if len(rec.Parts) != c.parts || rec.Parts[0].Trace.Len(event.LaneGPU) == 0 {
			t.Errorf("%s: %d parts, want %d", name, len(rec.Parts), c.parts)
		}
		if twice, err := strata.OpenFiles(t.Context(), []string{path, path}, strata.Options{}); err != nil ||
			len(twice.Parts) != 2*c.parts {
			t.Errorf("%s: it cannot be named with another: %v", name, err)
		}
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("%d files are left: %v", len(left), err)
	}
}
