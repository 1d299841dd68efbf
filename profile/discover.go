package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Found is a config.json that belongs to a trace, and how it was found.
type Found struct {
	// Config is the parsed file; its Path names it.
	Config *Config
	// Source says how it was found, for people: "beside the trace", "in a parent
	// directory of the trace", "model_path of …/server_args.json", "Hugging Face
	// cache, named by …/server_args.json".
	Source string
	// Tried lists what was looked at and passed over before, and why, in order.
	Tried []string
}

// finder looks for config files. The zero value is ready to use.
type finder struct {
	// Getenv reads an environment variable; default os.Getenv. Read are
	// HF_HUB_CACHE, HUGGINGFACE_HUB_CACHE, HF_HOME, XDG_CACHE_HOME and HOME (on
	// Windows USERPROFILE).
	Getenv func(string) string
	// Model names the model, as a directory or hub id, when the caller knows it.
	Model string
}

// FindConfig looks for the config.json of a trace with the default finder.
func FindConfig(tracePath string) (*Found, error) { return (&finder{}).Find(tracePath) }

// maxParents bounds the climb from the trace's directory.
const maxParents = 64

// Find looks for the config.json of the model that a trace (file or directory)
// was recorded from: in the trace's directory and then in each parent, nearest
// first, a config.json, then what a server_args.json there names as its model: a
// directory, or a hub id that the Hugging Face cache holds. A model the caller
// named is looked up before all that. A config.json that is not a model's, or is
// broken, is passed over and listed in Tried. Last, a model of the Hugging Face
// cache whose name stands in the trace's path is taken.
//
// When there is none the error wraps [ErrNoConfig] and says what was tried and
// what to do.
func (f *finder) Find(tracePath string) (*Found, error) {
	s := search{getenv: f.Getenv}
	if s.getenv == nil {
		s.getenv = os.Getenv
	}
	if f.Model != "" {
		if found := s.model(f.Model, "", "", "the model given"); found != nil {
			return found, nil
		}
	}
	dir, err := filepath.Abs(tracePath)
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	if !isDir(dir) {
		dir = filepath.Dir(dir)
	}
	for level := range maxParents {
		where := "beside the trace"
		if level > 0 {
			where = "in a parent directory of the trace"
		}
		if found := s.config(filepath.Join(dir, "config.json"), where); found != nil {
			return found, nil
		}
		if found := s.serverArgs(filepath.Join(dir, "server_args.json")); found != nil {
			return found, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	if found := s.cachedByName(tracePath); found != nil {
		return found, nil
	}
	msg := "none beside the trace or in its parent directories, no server_args.json there names a model on this machine, and the Hugging Face cache holds none that the trace's path names"
	if len(s.tried) > 0 {
		msg += " (passed over: " + strings.Join(s.tried, "; ") + ")"
	}
	return nil, fmt.Errorf("profile: %w: %s; give the config or name a profile, else layers are found from the trace alone", ErrNoConfig, msg)
}

// search is one run of a Finder.
type search struct {
	getenv func(string) string
	tried  []string
}

func (s *search) pass(what string, err error) {
	var e *Error
	if errors.As(err, &e) {
		// The path already stands in what.
		err = e.Err
		if e.Field != "" {
			what += ": " + e.Field
		}
	}
	s.tried = append(s.tried, what+": "+err.Error())
}

// config loads a config.json if there is one.
func (s *search) config(path, source string) *Found {
	c, err := LoadConfig(path)
	switch {
	case err == nil:
		return &Found{Config: c, Source: source, Tried: s.tried}
	case !errors.Is(err, fs.ErrNotExist):
		s.pass(path, err)
	}
	return nil
}

func (s *search) serverArgs(path string) *Found {
	a, err := LoadServerArgs(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.pass(path, err)
		}
		return nil
	}
	if a.Model == "" {
		s.pass(path, errors.New("names no model"))
		return nil
	}
	return s.model(a.Model, a.Revision, filepath.Dir(path), path)
}

// model looks a model up that named gave: as a directory (relative ones below
// base), then in the Hugging Face cache.
func (s *search) model(model, revision, base, named string) *Found {
	dir := model
	if !filepath.IsAbs(dir) && base != "" {
		dir = filepath.Join(base, dir)
	}
	if isDir(dir) {
		if found := s.config(filepath.Join(dir, "config.json"), "model_path of "+named); found != nil {
			return found
		}
	}
	// A path of somebody's Hugging Face cache names the model too.
	id := model
	if i := strings.Index(filepath.ToSlash(model), "models--"); i >= 0 {
		rest, _, _ := strings.Cut(filepath.ToSlash(model)[i+len("models--"):], "/")
		id = strings.Replace(rest, "--", "/", 1)
	}
	if !hubID.MatchString(id) || strings.Contains(id, "..") {
		s.pass(named, fmt.Errorf("names the model %s, which is no directory here", excerpt([]byte(model))))
		return nil
	}
	if found := s.cached(id, revision, "named by "+named); found != nil {
		return found
	}
	s.pass(named, fmt.Errorf("names the model %s, which is neither a directory here nor in the Hugging Face cache", excerpt([]byte(model))))
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
