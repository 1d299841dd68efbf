package capture

import (
	"context"

	"github.com/llmstrata/strata/capture/internal/label"
	"github.com/llmstrata/strata/capture/internal/pysource"
	"github.com/llmstrata/strata/capture/internal/server"
	"github.com/llmstrata/strata/capture/internal/whole"
)

// CheckWhole is for tests.
var CheckWhole = whole.Check

// ParseRank is for tests.
var ParseRank = label.Parse

// Missing is Missing for a count of ranks.
func Missing(complete []string, expect int) []string {
	return label.Missing(complete, label.Want(nil, expect, false))
}

// Summarise is for tests.
var Summarise = summarise

// Names that only tests use from outside.
const ManifestFile = manifestFile
const StageDecode = stageDecode
const StagePrefill = stagePrefill

// OverrideSource is Override of a text.
var OverrideSource = pysource.Override

// OverrideChanges is what that changed.
type OverrideChanges = pysource.Changes

// ParseFramework and Title are for tests.
var (
	ParseFramework = parseFramework
	Title          = title
)

var CheckServerLog = checkServerLog
var Frameworks = frameworks

// Detect is detect with a client of its own.
func Detect(ctx context.Context, url, outputDir string, opts Options) (det detection, err error) {
	defer func() { err = export(err) }()
	opts.URL, opts.OutputDir = url, outputDir
	opts = opts.withDefaults()
	c, err := server.New(opts.serverOptions())
	if err != nil {
		return detection{}, err
	}
	defer c.Close()
	return detect(ctx, c, opts)
}

const FrameworkAuto = frameworkAuto
const FrameworkSGLang = frameworkSGLang
const FrameworkTensorRT = frameworkTensorRT
const FrameworkTokenSpeed = frameworkTokenSpeed
const FrameworkVLLM = frameworkVLLM
const WorkloadDecode = workloadDecode
const WorkloadLegacy = workloadLegacy
const WorkloadPrefill = workloadPrefill

type IncompleteError = incompleteError

var ErrDiffusion = errDiffusion
var ErrNoProfilerCall = errNoProfilerCall
var ErrNoTraceCondition = errNoTraceCondition
var ErrPython = errPython
