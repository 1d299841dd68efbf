package capture

import "context"

// Names that only tests use from outside.
var (
	CheckWhole   = checkWhole
	ParseRank    = parseRank
	Summarise    = summarise
	Foreign      = foreign
	CacheOutcome = cacheOutcome
	StageOutcome = stageOutcome
)

const ManifestFile = manifestFile

// Missing is missingRanks for a count of ranks.
func Missing(complete []string, expect int) []string {
	return missingRanks(complete, firstRanks(axisGlobal, expect))
}

// Detect is detect with a client of its own.
func Detect(ctx context.Context, url, outputDir string, o Options) (Framework, error) {
	o = o.withDefaults()
	c, err := newClient(url, &o)
	if err != nil {
		return "", err
	}
	f, _, err := detect(ctx, c, outputDir)
	return f, err
}

// Table is the table of contracts.
func Table() []Contract { return known().Contracts }
