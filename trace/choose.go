package trace

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
)

// ChooseFiles returns those of the files that [ListFiles] found below root that make
// one recording, by stage, then rank:
//
//   - files directly inside root, else, if files below carry stage names, all of
//     them, else those of the directory whose newest trace is the newest, and
//     what other directories hold of the same recording (see [Recordings]);
//   - merged-* files and *.tmp left-overs only if there is nothing else;
//   - of one rank: 0 if present, else the lowest, else files without a rank; or
//     of all ranks, if there are any;
//   - of each stage the newest, and files without a stage only if no file has one.
func ChooseFiles(root string, files []File, allRanks bool) []File {
	if len(files) <= 1 {
		return files
	}
	files = chooseDirectory(root, files)
	files = prefer(files, func(f File) bool { return !f.Merged && !f.Partial })
	files = prefer(files, func(f File) bool { return !f.Merged })
	lowest := -1
	for _, f := range files {
		if f.Rank >= 0 && (lowest < 0 || f.Rank < lowest) {
			lowest = f.Rank
		}
	}
	files = prefer(files, func(f File) bool { return f.Rank == lowest || allRanks && f.Rank >= 0 })
	files = prefer(files, func(f File) bool { return f.Stage != "" })
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Stage, b.Stage), cmp.Compare(a.Rank, b.Rank), newestFirst(a, b))
	})
	return slices.CompactFunc(files, func(a, b File) bool { return a.Stage == b.Stage && a.Rank == b.Rank })
}

// newestFirst orders by time; files of one time, as copies have, by name, the
// later first, because names carry time stamps.
func newestFirst(a, b File) int {
	return cmp.Or(b.ModTime.Compare(a.ModTime), strings.Compare(b.Path, a.Path))
}

// prefer returns the files that pass, or all if none does.
func prefer(files []File, pass func(File) bool) []File {
	var out []File
	for _, f := range files {
		if pass(f) {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return files
	}
	return out
}

func chooseDirectory(root string, files []File) []File {
	root = filepath.Clean(root)
	var direct, staged []File
	for _, f := range files {
		if filepath.Dir(f.Path) == root {
			direct = append(direct, f)
		}
		if f.Stage != "" {
			staged = append(staged, f)
		}
	}
	switch {
	case len(direct) > 0:
		return direct
	case len(staged) > 0:
		return staged
	}
	newest := slices.MinFunc(files, newestFirst)
	var mates []File
	for _, r := range Recordings(root, files) {
		if slices.Contains(r.Files, newest) {
			mates = r.Files
		}
	}
	return prefer(files, func(f File) bool {
		return filepath.Dir(f.Path) == filepath.Dir(newest.Path) || slices.Contains(mates, f)
	})
}
