package profile

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// hubID is the form of an id on the Hugging Face hub.
var hubID = regexp.MustCompile(`^(?:[A-Za-z0-9][A-Za-z0-9._-]{0,95}/)?[A-Za-z0-9][A-Za-z0-9._-]{0,95}$`)

// hubs returns the directories of the Hugging Face hub cache, in the order
// huggingface_hub resolves them.
func (s *search) hubs() []string {
	var out []string
	for _, v := range []struct{ name, below string }{
		{"HF_HUB_CACHE", ""},
		{"HUGGINGFACE_HUB_CACHE", ""},
		{"HF_HOME", "hub"},
		{"XDG_CACHE_HOME", filepath.Join("huggingface", "hub")},
		{"HOME", filepath.Join(".cache", "huggingface", "hub")},
		{"USERPROFILE", filepath.Join(".cache", "huggingface", "hub")},
	} {
		if dir := s.getenv(v.name); dir != "" {
			out = append(out, filepath.Join(dir, v.below))
		}
	}
	return out
}

// cached loads the config.json of a hub id from the cache; how says who named it.
func (s *search) cached(id, revision, how string) *Found {
	for _, hub := range s.hubs() {
		repo := filepath.Join(hub, "models--"+strings.ReplaceAll(id, "/", "--"))
		for _, snap := range snapshots(repo, revision) {
			if found := s.config(filepath.Join(snap, "config.json"), "Hugging Face cache, "+how); found != nil {
				if found.Config.NameOrPath == "" {
					found.Config.NameOrPath = id
				}
				return found
			}
		}
	}
	return nil
}

// snapshots returns the snapshot directories of a cached repository: the one its
// revision (default main) points at, then the others by name.
func snapshots(repo, revision string) []string {
	if revision == "" {
		revision = "main"
	}
	var first string
	if hubID.MatchString(revision) && !strings.Contains(revision, "..") {
		first = revision // a commit hash names its snapshot itself
		if ref, err := openRegular("ref", filepath.Join(repo, "refs", filepath.FromSlash(revision))); err == nil {
			text, _ := io.ReadAll(io.LimitReader(ref, 128))
			ref.Close()
			if hash := strings.TrimSpace(string(text)); commitHash.MatchString(hash) {
				first = hash
			}
		}
	}
	entries, err := os.ReadDir(filepath.Join(repo, "snapshots")) // sorted by name
	if err != nil {
		return nil
	}
	var paths []string
	for _, e := range entries {
		if path := filepath.Join(repo, "snapshots", e.Name()); e.Name() == first {
			paths = slices.Insert(paths, 0, path)
		} else {
			paths = append(paths, path)
		}
	}
	return paths
}

var commitHash = regexp.MustCompile(`^[0-9a-f]{7,64}$`)

// minModelName is the fewest letters and digits a cached model's name must have
// to be looked for in a trace's path: "gpt2" would be found by accident.
const minModelName = 5

// cachedByName takes the cached model with the longest name that stands in the
// trace's file or directory names, both reduced to letters and digits.
func (s *search) cachedByName(tracePath string) *Found {
	path, err := filepath.Abs(tracePath)
	if err != nil {
		return nil
	}
	at := reduced(path)
	best, bestLen := "", minModelName-1
	for _, hub := range s.hubs() {
		entries, err := os.ReadDir(hub)
		if err != nil {
			continue
		}
		for _, e := range entries {
			id, ok := strings.CutPrefix(e.Name(), "models--")
			if !ok {
				continue
			}
			id = strings.Replace(id, "--", "/", 1)
			name := reduced(id[strings.LastIndex(id, "/")+1:])
			if len(name) > bestLen && strings.Contains(at, name) && hubID.MatchString(id) {
				best, bestLen = id, len(name)
			}
		}
	}
	if best == "" {
		return nil
	}
	return s.cached(best, "", "where "+best+" stands in the trace's path")
}

// reduced keeps the letters and digits of a text, in lower case.
func reduced(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}
