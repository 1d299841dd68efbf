package app

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"

	"github.com/llmstrata/strata"
	"github.com/llmstrata/strata/layer/fleet"
	"github.com/llmstrata/strata/trace"
)

// The values of --recordings.
const (
	Newest        = "newest"
	AllRecordings = "all"
)

// Recordings defines --recordings.
func Recordings(fs *flag.FlagSet, usual string) *string {
	other := AllRecordings
	if usual == other {
		other = Newest
	}
	return Choice(fs, "recordings", "`WHICH`: recordings of a folder to read", usual, other)
}

// Strict defines --strict.
func Strict(fs *flag.FlagSet, on *bool) {
	fs.BoolVar(on, "strict", false, "fail if a rank cannot be read (default: report it)")
}

// errUnread is what --strict ends with.
var errUnread = errors.New("cannot be read (leave --strict out to go on without it)")

// Unread is the error of --strict: of the first file of the runs that could not be read.
func Unread(runs ...fleet.Run) error {
	for i := range runs {
		if bad := runs[i].Bad; len(bad) > 0 {
			return fmt.Errorf("%s: %s: %w", bad[0].File, bad[0].Why, errUnread)
		}
	}
	return nil
}

// FindRanks looks for the ranks of a folder, an archive or a pattern, or among several files, and notes which it found.
// It returns nil if there is one rank, or none of these. The caller must close them.
func (e *Env) FindRanks(ctx context.Context, paths []string, recordings string) (*strata.Ranks, error) {
	if len(paths) == 0 || slices.Contains(paths, "-") {
		return nil, nil
	}
	ranks, err := strata.FindRanks(ctx, paths, e.LoadOptions())
	if err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, nil // what is wrong with it, the reader of one file says
	}
	n := len(ranks.Recordings)
	if n == 0 || len(paths) > 1 && n > 1 {
		ranks.Close()
		return nil, nil
	}
	if recordings == Newest {
		ranks.Recordings = ranks.Recordings[:1]
	}
	if !ranks.Many() {
		ranks.Close()
		return nil, nil
	}
	if len(ranks.Recordings) < n {
		e.Notef("1 of %d recordings: %s; --recordings all reads all", n, ranks.Recordings[0].Name)
	}
	named := 0
	for i := range ranks.Recordings {
		for _, f := range ranks.Recordings[i].Files {
			if named++; named <= unreadNotes {
				part := ranks.Part(f)
				e.Notef("reading %s", part.Shown())
			}
		}
	}
	if named > unreadNotes {
		e.Notef("reading %d more", named-unreadNotes)
	}
	return ranks, nil
}

// RankLabel names a file of several.
func RankLabel(f trace.File) string {
	if f.Rank < 0 {
		return f.Path
	}
	if f.Stage == "" {
		return fmt.Sprintf("rank %d", f.Rank)
	}
	return fmt.Sprintf("rank %d %s", f.Rank, f.Stage)
}
