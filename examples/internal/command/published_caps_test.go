package command_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

// published lists the 62 things that the published scripts and guides can and
// that were once missing here, wrong, different without a word, or never tried:
// each is shown by a test, as "package TestName", or said in docs/differences.md,
// in the words quoted.
var published = []struct{ what, shown string }{
	// Layers.
	{"a world size alone is no tensor-parallel size", "profile TestParallelismOfSharedTraces"},
	{"a serving mode where no flag says one", `serving mode "decode B=1"`},
	{"tables behind --show-all-passes", "`--show-all-passes` prints passes only"},
	{"a cold start and growing steps are reported without a flag", "layer TestColdStart"},
	{"products of experts are a category of their own", "layer TestProductsOfExperts"},
	{"a representative layer of each bottleneck", "a representative layer for each kind of bottleneck"},
	{"a prefill and replayed decodes without annotations", "layer TestStagesOfLaunches"},
	{"times of the compute flow lead back into the trace", "`ts_rel(ms)` of the compute flow"},
	{"the offset of the layer in the head of the compute flow",
		"examples/internal/programs TestLayerBreakdownComputeFlowOfAReplay"},
	{"kernels and anchors in the head of the map",
		"examples/internal/programs/perfettomap TestHeadCountsKernelsAndAnchors"},
	{"a cold start in the list of findings", "layer TestColdStart"},
	// Triage: the report.
	{"steps and stages of a trace without annotations", "triage TestStagesWithoutAnnotations"},
	{"one tensor-parallel size in all programs", "examples/internal/agree TestProgramsAgree"},
	{"TokenSpeed's rows of the registry", "TokenSpeed's registry rows were tried on generated traces only"},
	{"an all-reduce and a norm of any maker", "triage TestEveryRegistryRow"},
	{"near misses by more than a name's words", "Similarity notes weigh words"},
	{"an all-reduce beside a norm that is not fused", "triage TestCollectivesAreFusedUpToASize"},
	{"the overlap catalogue for each row", "triage TestOverlapCatalogue"},
	{"catalogues can be read", "examples/internal/programs/triage TestCatalog"},
	{"is it there, switched off, elsewhere, or new", "triage TestFuseStates"},
	// Triage: flags.
	{"spellings of --framework", "examples/internal/programs/triage TestNoSuchProcess"},
	{"--mapping-output-dir", "examples/internal/programs/triage TestOldCommandLines"},
	{"--formal-output-dir", "examples/internal/programs/triage TestOldCommandLines"},
	{"--mapping-profile-prefix", "examples/internal/programs/triage TestOldCommandLines"},
	{"--formal-profile-prefix", "examples/internal/programs/triage TestOldCommandLines"},
	{"--no-profile-by-stage", "examples/internal/programs/triage TestOldCommandLines"},
	{"--no-merge-profiles", "examples/internal/programs/triage TestOldCommandLines"},
	{"--pid-substring that nothing matches", "examples/internal/programs/triage TestNoSuchProcess"},
	{"--overlap-table-limit 0 lists all", "`--overlap-table-limit 0`: all rows"},
	{"the sub-command triage", "examples/internal/command TestPublishedCommandLines"},
	{"a live capture without a folder", "examples/internal/programs/triage TestOldCommandLines"},
	{"the order of stages among the inputs", "Stages are in the order decode, prefill, mixed"},
	// Captures.
	{"stage files of a legacy capture", "Server-side stage files of a legacy capture"},
	{"a legacy capture's warm-up", "legacy: warm-up of max(64, 8 × steps) tokens"},
	{"one stage per start on TensorRT-LLM", "one stage per start on TensorRT-LLM"},
	{"chat, then completions", "capture TestChatMissing"},
	{"steps that a server cannot count", "capture TestBounded"},
	{"old names of the probe's flags", "examples/internal/programs/capture TestOldFlags"},
	{"several prompts for the probe, three without a flag", "examples/internal/programs/capture TestOldFlags"},
	{"six requests of the probe without a flag", "examples/internal/programs/capture TestOldFlags"},
	{"success, all_non_empty, errors, source of the probe", "examples/internal/programs/capture TestOldFlags"},
	{"overrides of a matrix", "examples/internal/programs/capture TestMatrixArtefacts"},
	{"probes of a matrix", "examples/internal/programs/capture TestMatrixArtefacts"},
	{"names of reports", "reports named `analysis_<framework>.txt`"},
	{"a bundle by model", "triage TestBundle"},
	{"a report without a model's line", "one model, one folder"},
	{"the table of contents", "a table of contents unless you say otherwise"},
	{"the line of the model's id", "a line `Model id` below each heading"},
	{"empty reports", "`triage-bundle` drops empty reports"},
	// Host.
	{"thresholds by phase", "thresholds by phase, by flag"},
	{"--output verdict.json is JSON", "examples/internal/programs TestHostDetectOutputNameTellsTheFormat"},
	{"phases without annotations", "phases from annotations only"},
	{"an NVTX-only run of one GPU", "NVTX-only fallbacks with a tensor-parallel size of 1"},
	{"how many steps a comparison rests on", "examples/internal/programs TestHostCompareTextNamesItsSteps"},
	{"the pattern of launches", "patterns 2 to 5 of the published root-cause guide (launches,"},
	{"the pattern of bookkeeping", "patterns 2 to 5 of the published root-cause guide (launches, bookkeeping,"},
	{"the pattern of compilation", "patterns 2 to 5 of the published root-cause guide (launches, bookkeeping, JIT,"},
	{"the pattern of context-only steps", "patterns 2 to 5 of the published root-cause guide (launches, bookkeeping, " +
		"JIT, context-only steps)"},
	{"the reasons ALLOC, CUSTOM_OP, GRAPH_SPLIT", "the reasons ALLOC, CUSTOM_OP and GRAPH_SPLIT were tried on " +
		"generated traces only"},
	{"stragglers of a directory of ranks", "examples/internal/programs TestHostDetectDirectoryOfRanks"},
	{"the handoff of one run", "hostoverhead TestHandoffOfOneRun"},
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
	if len(published) != 62 {
		t.Errorf("%d things, want all 62", len(published))
	}
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

// oldFlags are the flags of the published scripts, by the command that replaces each script.
var oldFlags = map[string]string{
	"layer-timeline": "--trace --config --profile --anchor-kernel --num-layers --hash-layers --fwd-pass " +
		"--show-all-passes --gpu-type --tp --ep --serving-mode",
	"layer-breakdown": "--trace --config --profile --anchor-kernel --num-layers --hash-layers --fwd-pass --layer " +
		"--compare-layer --format --output",
	"perfetto-map": "--trace --config --profile --anchor-kernel --num-layers --hash-layers --fwd-pass --layers",
	"triage": "--input --mapping-input --formal-input --framework --url --mapping-url --formal-url " +
		"--output-dir --mapping-output-dir --formal-output-dir --profile-prefix --mapping-profile-prefix " +
		"--formal-profile-prefix --num-steps --start-step --warmup-steps --profile-by-stage --no-profile-by-stage " +
		"--merge-profiles --no-merge-profiles --profile-workload --prefill-input-len --prefill-output-len " +
		"--decode-input-len --decode-output-len --probe-requests --probe-prompt --probe-max-new-tokens --probe-delay " +
		"--pid-substring --kernel-table-limit --overlap-table-limit",
	"triage-bundle": "--analysis-root --analysis-file --title --include-toc --output",
	"capture probe": "--url --requests --max-tokens --timeout --prompt",
	"host-detect":   "--trace --output --gpu-idle-threshold --launch-threshold --gpu-util-threshold --no-m3 --json-only",
	"host-compare":  "--baseline --target --baseline-label --target-label --tp-size --output",
}

// TestOldFlagsAreMapped: each is named in docs/differences.md and taken by the command.
func TestOldFlagsAreMapped(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testdata.Root(t), "docs", "differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	for command, flags := range oldFlags {
		help := run(t, "", append(strings.Fields(command), "--help")...).Stdout
		for _, f := range strings.Fields(flags) {
			if !strings.Contains(string(page), "`"+f+"`") {
				t.Errorf("docs/differences.md says nothing of %s", f)
			}
			if !regexp.MustCompile(`(?m)^  ` + f + `\b`).MatchString(help) {
				t.Errorf("%s does not take %s", command, f)
			}
		}
	}
}

// TestEveryProgramHasItsDifferences: the page says of each program what it replaces, or that nothing was published.
func TestEveryProgramHasItsDifferences(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(testdata.Root(t), "docs", "differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	dirs, err := os.ReadDir(filepath.Join(testdata.Root(t), "examples"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range dirs {
		files, err := filepath.Glob(filepath.Join(testdata.Root(t), "examples", d.Name(), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(testdata.Root(t), "examples", d.Name(), "go.mod")); err == nil ||
			len(files) == 0 {
			continue // a module of its own or no program: it replaces no published script
		}
		if d.Name() != "internal" && !strings.Contains(string(page), "`"+d.Name()+"`") {
			t.Errorf("docs/differences.md says nothing of %s", d.Name())
		}
	}
}
