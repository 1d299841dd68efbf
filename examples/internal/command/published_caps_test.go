package command_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

// published lists what the published scripts and guides can and an earlier
// version could not, did otherwise, or was never tried on: shown by a test, as
// "package TestName", or said in docs/differences.md, in the words quoted.
var published = []struct{ what, shown string }{
	{"a world size alone is no tensor-parallel size", "profile TestParallelismOfSharedTraces"},
	{"a serving mode where no flag says one", `serving mode "decode B=1"`},
	{"tables behind --show-all-passes", "`--show-all-passes` prints passes only"},
	{"a cold start is told", "layer TestColdStart"},
	{"a representative layer of each bottleneck", "a representative layer for each kind of bottleneck"},
	{"times of the compute flow lead back into the trace", "`ts_rel(ms)` of the compute flow"},
	{"the compute flow of a replay", "examples/internal/programs/layerbreakdown TestComputeFlowOfAReplay"},
	{"the published numbers of layers", "examples/internal/programs/layertimeline TestAnchorOpensPrintsThePublishedFigures"},
	{"TokenSpeed's rows of the registry", "TokenSpeed's registry rows were tried on generated traces only"},
	{"every row of the registry", "triage TestEveryRegistryRow"},
	{"an all-reduce and a norm of any maker", "triage TestCollectivesAreFusedUpToASize"},
	{"near misses by more than a name's words", "Similarity notes weigh words"},
	{"the published overlap table", "examples/internal/programs/triage TestPublishedOverlap"},
	{"catalogues can be read", "examples/internal/programs/triage TestCatalog"},
	{"spellings of --framework", "`--framework` (`tllm`, `ts`, `token-speed`"},
	{"--mapping-output-dir and --formal-output-dir", "`--mapping-output-dir`, `--formal-output-dir`"},
	{"--no-profile-by-stage and --no-merge-profiles", "`--no-profile-by-stage`, `--merge-profiles`, `--no-merge-profiles`"},
	{"--overlap-table-limit 0 lists all", "`--overlap-table-limit 0` | all rows"},
	{"the sub-command triage", "sub-command `triage` | accepted"},
	{"old command lines of triage", "examples/internal/programs/triage TestOldCommandLines"},
	{"every published command line", "examples/internal/command TestPublishedCommandLines"},
	{"the order of stages", "Stages stand in the order decode, prefill, mixed"},
	{"a legacy capture's warm-up", "legacy: warm-up of max(64, 8 × steps) tokens"},
	{"stage files of a legacy capture, one stage per start, chat then completions", "Server-side stage files of a legacy capture, one stage per start on TensorRT-LLM, and the fall-back from chat"},
	{"steps that a server cannot count", "capture TestBounded"},
	{"flags of the probe", "examples/internal/programs/capture TestOldFlags"},
	{"overrides and probes of a matrix", "examples/internal/programs/capture TestMatrixArtefacts"},
	{"names of reports", "reports named `analysis_<framework>.txt`"},
	{"a bundle by model, also without its line", "one model, one folder"},
	{"the table of contents", "a table of contents unless told otherwise"},
	{"empty reports", "`triage-bundle` drops empty reports"},
	{"thresholds by phase", "thresholds by phase, by flag"},
	{"--output verdict.json is JSON", "examples/internal/programs/hostdetect TestOutputNameTellsTheFormat"},
	{"phases without annotations", "phases from annotations only"},
	{"the published detector's figures", "examples/internal/programs/hostdetect TestComparableEqualsTheReference"},
	{"an NVTX-only run of one GPU, patterns 2 to 5, ALLOC, CUSTOM_OP, GRAPH_SPLIT", "NVTX-only fallbacks with a tensor-parallel size of 1, patterns 2 to 5"},
	{"stragglers of a directory of ranks", "examples/internal/programs/hostdetect TestDirectoryOfRanks"},
	{"the handoff of one run", "hostoverhead/hostcompare TestHandoffOfOneRun"},
	{"the handoff's source function", "`source_function` of a handoff"},
}

// TestPublishedCapabilities: each of them has its test or its line.
func TestPublishedCapabilities(t *testing.T) {
	root := testdata.Root(t)
	page, err := os.ReadFile(filepath.Join(root, "docs", "differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ")
	isTest := regexp.MustCompile(`^(\S+) (Test\w+)$`)
	for _, p := range published {
		m := isTest.FindStringSubmatch(p.shown)
		if m == nil {
			if !strings.Contains(text, p.shown) {
				t.Errorf("%s: docs/differences.md does not say %q", p.what, p.shown)
			}
			continue
		}
		files, err := filepath.Glob(filepath.Join(root, m[1], "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range files {
			source, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			found = found || strings.Contains(string(source), "func "+m[2]+"(")
		}
		if !found {
			t.Errorf("%s: package %s has no %s", p.what, m[1], m[2])
		}
	}
}
