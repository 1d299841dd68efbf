package trace

import (
	"cmp"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/framework"
)

// Recording is the files that one start of the profiler left, of all ranks and stages.
type Recording struct {
	// Name is the folder below the root and what the names of the files have in common.
	Name  string
	Files []File
}

// newest is when the last of its files was written.
func (r *Recording) newest() File { return slices.MinFunc(r.Files, newestFirst) }

var (
	parallelLabel = regexp.MustCompile(`(?i)(^|[^a-z0-9])(rank|d?pp|tp|ep|d?cp|dp)[-_]?\d{1,6}`)
	replicaLabel  = regexp.MustCompile(`(?i)(^|[^a-z0-9])dp[-_]?\d{1,6}`)
	timeStamp     = regexp.MustCompile(`\d{10,}(\.\d+)?`)
	stageWord     = regexp.MustCompile(`(?i)[-_.]?(extend|prefill|decode)\b`)
	process       = regexp.MustCompile(`_\d+(\.\d{13,}\.pt\.trace)`) // host_pid.time.pt.trace.json, of torch's handler
	separators    = regexp.MustCompile(`[-_. ]+`)
)

// Recordings divides the files that [ListFiles] found below root into recordings, the newest first. Files belong
// together that differ by rank and stage alone, and by a time that each rank took for itself, also in several folders.
// Where a rank would be there twice, the folder, that time or the data-parallel replica separates recordings, and files
// of two folders that were written an hour or more apart are of two. Merged files and left-overs of killed servers
// count only where there is nothing else.
func Recordings(root string, files []File) []Recording {
	root = filepath.Clean(root)
	files = slices.DeleteFunc(slices.Clone(files), func(f File) bool { return f.External })
	files = prefer(files, func(f File) bool { return !f.Merged && !f.Partial })
	slices.SortFunc(files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
	named := map[string][]File{}
	for _, f := range files {
		named[common(f, true)] = append(named[common(f, true)], f)
	}
	var out []Recording
	for name, list := range named {
		folders := map[string][]File{}
		for _, f := range list {
			folders[folder(root, f)] = append(folders[folder(root, f)], f)
		}
		unranked := func(f File) bool { return f.Rank < 0 }
		if len(folders) > 1 && !rankTwice(list) && !slices.ContainsFunc(list, unranked) && !hoursApart(folders) {
			out = append(out, apart(name, list)...)
			continue
		}
		for dir, list := range folders {
			out = append(out, apart(strings.TrimPrefix(dir+"/"+name, "/"), list)...)
		}
	}
	for i := range out {
		r := &out[i]
		r.Name = strings.Trim(r.Name, "/")
		slices.SortFunc(r.Files, func(a, b File) int {
			return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Rank, b.Rank), strings.Compare(a.Path, b.Path))
		})
	}
	slices.SortFunc(out, func(a, b Recording) int {
		return cmp.Or(newestFirst(a.newest(), b.newest()), strings.Compare(a.Name, b.Name))
	})
	return out
}

// folder is where below root a file is; a folder for each stage or rank counts as the one that holds them.
func folder(root string, f File) string {
	dir, err := filepath.Rel(root, filepath.Dir(f.Path))
	if err != nil {
		return ""
	}
	ofRank := f.Rank >= 0 && framework.ReadFileName(framework.All(), filepath.Base(f.Path)).Rank < 0
	if ofRank || f.Stage != "" && stageWord.ReplaceAllString(filepath.Base(dir), "") == "" {
		dir = filepath.Dir(dir)
	}
	if dir == "." {
		return ""
	}
	return filepath.ToSlash(dir)
}

// hoursApart reports whether an hour or more passed between the files of some folders and those of the others: ranks of
// a run write theirs within minutes. Files whose times are not known say nothing.
func hoursApart(folders map[string][]File) bool {
	var written []time.Time
	for _, list := range folders {
		if at := slices.MinFunc(list, newestFirst).ModTime; !at.IsZero() {
			written = append(written, at)
		}
	}
	slices.SortFunc(written, time.Time.Compare)
	for i := range written[min(1, len(written)):] {
		if written[i+1].Sub(written[i]) >= time.Hour {
			return true
		}
	}
	return false
}

// rankTwice reports whether two files of one name are of the same rank and stage.
func rankTwice(list []File) bool {
	type key struct {
		rank   int
		stage  string
		labels string
	}
	seen := map[key]bool{}
	for _, f := range list {
		base := filepath.Base(f.Path)
		k := key{f.Rank, f.Stage, strings.Join(parallelLabel.FindAllString(base, -1), "")}
		if m := process.FindString(base); m != "" {
			k.labels += strings.SplitN(m, ".", 2)[0]
		}
		if seen[k] {
			return true
		}
		seen[k] = true
	}
	return false
}

// common is what the name of a file has in common with those of other ranks, with or without times.
func common(f File, times bool) string {
	name := process.ReplaceAllString(framework.BareName(filepath.Base(f.Path)), "$1")
	name, _, _ = strings.Cut(name, ".json")
	name, _, _ = strings.Cut(name, ".pt.trace")
	name = strings.TrimSuffix(name, ".trace")
	if f.Rank >= 0 {
		name = parallelLabel.ReplaceAllString(name, "$1")
	}
	name = stageWord.ReplaceAllString(name, "")
	if times {
		name = timeStamp.ReplaceAllString(name, "")
	}
	return strings.Trim(separators.ReplaceAllString(name, "-"), "-")
}

// apart divides files of one name where a rank is there twice.
func apart(name string, list []File) []Recording {
	split := func(by func(File) string) []Recording {
		parts := map[string][]File{}
		var keys []string
		for _, f := range list {
			k := by(f)
			if parts[k] == nil {
				keys = append(keys, k)
			}
			parts[k] = append(parts[k], f)
		}
		var out []Recording
		for _, k := range keys {
			out = append(out, Recording{strings.Trim(name+"-"+k, "-"), parts[k]})
		}
		return out
	}
	replicas := map[string]bool{}
	ranks := map[int]bool{}
	for _, f := range list {
		replicas[replicaLabel.FindString(filepath.Base(f.Path))], ranks[f.Rank] = true, true
	}
	switch {
	case !rankTwice(list) && (len(replicas) <= 1 || len(ranks) == len(list)):
		first := common(list[0], false) // with its time, where all have the same one
		if slices.ContainsFunc(list, func(f File) bool { return common(f, false) != first }) {
			first = cmp.Or(strings.Trim(common(list[0], true), "-"), first)
		}
		return []Recording{{strings.TrimSuffix(name, common(list[0], true)) + first, list}}
	case !rankTwice(list): // each replica numbers its ranks by itself
		return split(func(f File) string {
			return strings.TrimLeft(replicaLabel.FindString(filepath.Base(f.Path)),
				"-_.")
		})
	}
	stamp := func(f File) string { return strings.Join(timeStamp.FindAllString(filepath.Base(f.Path), -1), "-") }
	byTime := split(stamp)
	if len(byTime) < len(list) && len(byTime) > 1 {
		return byTime
	}
	// Each file has a time of its own: the last of each rank, the one before it, and so on.
	slices.SortFunc(list, func(a, b File) int { return cmp.Or(strings.Compare(stamp(b), stamp(a)), newestFirst(a, b)) })
	type one struct {
		rank  int
		stage string
	}
	nth := map[one]int{}
	var out []Recording
	for _, f := range list {
		n := nth[one{f.Rank, f.Stage}]
		nth[one{f.Rank, f.Stage}]++
		if n == len(out) {
			out = append(out, Recording{Name: strings.Trim(name+"-"+stamp(f), "-")})
		}
		out[n].Files = append(out[n].Files, f)
	}
	return out
}
