package profile

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/llmstrata/strata/internal/framework"
)

// FindConfig looks for the config.json of the model that a trace (file or
// directory) was recorded from: in the trace's directory and then in each parent,
// nearest first, a config.json, then what a server_args.json there names as its
// model, a directory or a hub id that the Hugging Face cache holds. Last, a model
// of that cache whose name is in the trace's path is taken. Nothing is
// fetched. The error wraps [ErrNoConfig] where there is none. The source says how
// it was found, for people: "beside the trace", "Hugging Face cache, named by
// …/server_args.json"; the config's Path names the file.
func FindConfig(tracePath string) (c *Config, source string, err error) {
	s := &search{getenv: os.Getenv}
	err = s.find(tracePath)
	return s.config, s.source, err
}

// maxParents bounds the climb from the trace's directory.
const maxParents = 64

// search is one run of [FindConfig].
type search struct {
	// getenv reads an environment variable: HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME and HOME (on
	// Windows USERPROFILE).
	getenv func(string) string
	config *Config  // once it is found
	source string   // how, for people
	tried  []string // what was looked at and passed over before, and why, in order
}

// find is [FindConfig]. A config.json that is not a model's, or is broken, is passed over. Where there is none the
// error says what was tried and what to do.
func (s *search) find(tracePath string) error {
	dir, err := filepath.Abs(tracePath)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	if !isDir(dir) {
		dir = filepath.Dir(dir)
	}
	for level := range maxParents {
		where := "beside the trace"
		if level > 0 {
			where = "in a parent directory of the trace"
		}
		if s.load(filepath.Join(dir, framework.ConfigFile), where) ||
			s.serverArgs(filepath.Join(dir, framework.ServerArgsFile)) {
			return nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	if s.cachedByName(tracePath) {
		return nil
	}
	msg := "none beside the trace or in its parent directories, no server_args.json there names a model on this " +
		"machine, and the Hugging Face cache holds none that the trace's path names"
	if len(s.tried) > 0 {
		msg += " (passed over: " + strings.Join(s.tried, "; ") + ")"
	}
	return fmt.Errorf("profile: %w: %s; give the config or name a profile, else layers are found from the trace "+
		"alone", ErrNoConfig, msg)
}

func (s *search) pass(what string, err error) {
	var e *documentError
	if errors.As(err, &e) {
		// The path is already in what.
		err = e.Err
		if e.Field != "" {
			what += ": " + e.Field
		}
	}
	s.tried = append(s.tried, what+": "+err.Error())
}

// load takes a config.json if there is one.
func (s *search) load(path, source string) bool {
	c, err := LoadConfig(path)
	switch {
	case err == nil:
		s.config, s.source = c, source
	case !errors.Is(err, fs.ErrNotExist):
		s.pass(path, err)
	}
	return err == nil
}

func (s *search) serverArgs(path string) bool {
	a, err := LoadServerArgs(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.pass(path, err)
		}
		return false
	}
	if a.Model == "" {
		s.pass(path, errors.New("names no model"))
		return false
	}
	return s.model(a.Model, a.Revision, filepath.Dir(path), path)
}

// model looks a model up that named gave: as a directory (relative ones below
// base), then in the Hugging Face cache.
func (s *search) model(model, revision, base, named string) bool {
	dir := model
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(base, dir)
	}
	if isDir(dir) && s.load(filepath.Join(dir, framework.ConfigFile), "model_path of "+named) {
		return true
	}
	// A path of somebody's Hugging Face cache names the model too.
	id := model
	if _, rest, ok := strings.Cut(filepath.ToSlash(model), "models--"); ok {
		rest, _, _ = strings.Cut(rest, "/")
		id = strings.Replace(rest, "--", "/", 1)
	}
	if !hubID.MatchString(id) || strings.Contains(id, "..") {
		s.pass(named, fmt.Errorf("names the model %s, which is no directory here", excerpt([]byte(model))))
		return false
	}
	if s.cached(id, revision, "named by "+named) {
		return true
	}
	s.pass(named, fmt.Errorf("names the model %s, which is neither a directory here nor in the Hugging Face cache",
		excerpt([]byte(model))))
	return false
}

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
func (s *search) cached(id, revision, how string) bool {
	for _, hub := range s.hubs() {
		repo := filepath.Join(hub, "models--"+strings.ReplaceAll(id, "/", "--"))
		for _, snap := range snapshots(repo, revision) {
			if s.load(filepath.Join(snap, framework.ConfigFile), "Hugging Face cache, "+how) {
				s.config.NameOrPath = cmp.Or(s.config.NameOrPath, id)
				return true
			}
		}
	}
	return false
}

// snapshots returns the snapshot directories of a cached repository: the one its
// revision (default main) points at, then the others by name.
func snapshots(repo, revision string) []string {
	revision = cmp.Or(revision, "main")
	var first string
	if hubID.MatchString(revision) && !strings.Contains(revision, "..") {
		first = revision // a commit hash names its snapshot itself
		if ref, err := openRegular("ref", filepath.Join(repo, "refs",
			filepath.FromSlash(revision))); err == nil {
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

// cachedByName takes the cached model with the longest name that occurs in the
// trace's file or directory names, both reduced to letters and digits.
func (s *search) cachedByName(tracePath string) bool {
	path, err := filepath.Abs(tracePath)
	if err != nil {
		return false
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
		return false
	}
	return s.cached(best, "", best+" is in the trace's path")
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
