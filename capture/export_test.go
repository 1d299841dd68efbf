package capture

import (
	"context"
	"time"
)

// Names that only tests use from outside.
var (
	CheckWhole     = checkWhole
	ParseRank      = parseRank
	Summarise      = summarise
	OverrideSource = overrideSource
	CheckServerLog = checkServerLog
	ErrDiffusion   = errDiffusion
	Foreign        = foreign
	CacheOutcome   = cacheOutcome
	StageOutcome   = stageOutcome
)

const ManifestFile = manifestFile

type IncompleteError = incompleteError

// Missing is missingRanks for a count of ranks.
func Missing(complete []string, expect int) []string {
	return missingRanks(complete, wantRanks(nil, expect, false))
}

// Detect is detect with a client of its own.
func Detect(ctx context.Context, url, outputDir string, o Options) (Framework, error) {
	o = o.withDefaults()
	c, err := newClient(url, &o)
	if err != nil {
		return "", err
	}
	defer c.close()
	f, _, err := detect(ctx, c, outputDir)
	return f, err
}

// Table is the table of contracts.
func Table() []Contract { return contracts }

// StartBodies are all bodies that a framework's contracts send for a stage, without and with a schema that lists all.
func StartBodies(f Framework, s Stage) map[string][]string {
	o := Options{ProfilePrefix: "x", StartStep: 2}.withDefaults()
	out := map[string][]string{}
	for i := range contracts {
		c := &contracts[i]
		if c.Framework != f || c.Start == "" {
			continue
		}
		all := &routes{fields: map[Field]bool{}}
		for _, x := range append(append([]Field{}, c.Fields...), c.Listed...) {
			all.fields[x] = true
		}
		ses := session{stage: s, steps: 5, passes: 6, dir: "/tmp/x", id: windowID(time.Unix(1_790_000_000, 0))}
		for _, l := range []*routes{nil, all} {
			out[c.Name] = append(out[c.Name], string(o.body(c, l, ses)))
		}
	}
	return out
}
