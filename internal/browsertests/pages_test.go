package browsertests

import (
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/llmstrata/strata/internal/gen/ranks"
)

// made are the pages that every page's test opens, each of a run that is generated: address by name.
var made struct {
	sync.Mutex
	dir   string
	pages map[string]string
}

// all returns the names of all kinds of pages, in order, and their addresses. They are written once.
func all(t *testing.T) (names []string, pages map[string]string) {
	t.Helper()
	chromium(t)
	made.Lock()
	defer made.Unlock()
	if made.pages == nil {
		dir, err := os.MkdirTemp("", "strata-pages")
		if err != nil {
			t.Fatal(err)
		}
		pages := map[string]string{"compare": comparePage(t, dir)}
		write := func(name string, args ...string) {
			path := filepath.Join(dir, name+".html")
			run(t, append(args, "--html", path)...)
			pages[name] = address(path)
		}
		for _, command := range []string{"report", "layers", "triage", "host", "light"} {
			write(command, command)
		}
		write("fleet", "fleet", fleetOf(t, filepath.Join(dir, "ranks"), 1, ranks.HostGap))
		nights := filepath.Join(dir, "nights")
		for night := range 6 {
			cause := ranks.OnTime
			if night >= 3 {
				cause = ranks.LongKernel
			}
			folder := fleetOf(t, filepath.Join(dir, fmt.Sprint("night", night)), uint64(night), cause)
			if err := os.MkdirAll(nights, 0o777); err != nil {
				t.Fatal(err)
			}
			run(t, "digest", folder, "--date", fmt.Sprintf("2026-01-%02d", night+1), "--output",
				filepath.Join(nights, fmt.Sprint(night, ".ndjson")))
		}
		write("trend", "fleet", "trend", nights)
		made.dir, made.pages = dir, pages
	}
	return slices.Sorted(maps.Keys(made.pages)), made.pages
}

func address(path string) string { return (&url.URL{Scheme: "file", Path: path}).String() }

// fleetOf writes the traces of a replica of eight ranks, one late, and returns their folder.
func fleetOf(t *testing.T, dir string, seed uint64, cause ranks.Cause) string {
	t.Helper()
	c := ranks.Config{Seed: seed, Steps: 8, Replicas: []ranks.Replica{{Numbered: true, Late: 5, Cause: cause,
		LateBy: 30_000}}}
	if _, err := c.Write(func(f ranks.File) error {
		path := filepath.Join(dir, f.Name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			return err
		}
		return os.WriteFile(path, f.Data, 0o666)
	}); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestMain ends and removes what tests share.
func TestMain(m *testing.M) {
	code := m.Run()
	if shared.stop != nil {
		shared.stop()
	}
	if made.dir != "" {
		_ = os.RemoveAll(made.dir) // a temporary folder
	}
	os.Exit(code)
}
