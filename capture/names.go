package capture

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/llmstrata/strata/internal/framework"
)

// notTraces are the documents that lie beside traces.
var notTraces = []string{framework.ServerArgsFile, framework.MetadataFile, framework.ConfigFile, manifestFile,
	sessionFile, "matrix-state.json", "probe.json"}

// graphCapture are traces that a server writes when it records its graphs, not of a window.
var graphCapture = regexp.MustCompile(`(?i)(^|/)(graph_capture_profile|capture_traces)/|(^|/)cuda_graph_capture-`)

// isTrace reports whether a finished trace of a window could have this slash-separated name: *.json or *.json.gz, none
// of the documents that lie beside traces, not hidden, not the record of a graph.
func isTrace(name string) bool {
	b := strings.ToLower(framework.PlainName(path.Base(name)))
	if strings.HasPrefix(b, ".") || slices.Contains(notTraces, b) || strings.HasPrefix(b, "execution_trace") ||
		graphCapture.MatchString(name) {
		return false
	}
	return strings.HasSuffix(strings.TrimSuffix(b, ".gz"), ".json")
}

// partial is the end of a trace that its writer will rename when it is done.
var partial = regexp.MustCompile(`(?i)(json|trace)[^/]*\.(tmp|part|partial|incomplete)(\.gz)?$`)

// isPartial reports whether name is a trace not yet renamed.
func isPartial(name string) bool { return partial.MatchString(path.Base(name)) }

// isFrontend recognises the trace of the process that takes requests, which has no GPU: vLLM names it after its class.
func isFrontend(name string) bool { return strings.Contains(path.Base(name), ".async_llm.") }

// isMerged recognises the file SGLang adds with all ranks in it.
func isMerged(name string) bool { return framework.ReadFileName(nil, name).Merged }

// halfOf is the stage that SGLang puts at the end of a name by stage.
func halfOf(name string) Stage { return Stage(framework.ReadFileName(nil, path.Base(name)).Stage) }

// ending is the longest known one of a trace's name.
var ending = regexp.MustCompile(`(?i)((\.pt)?\.trace)?\.json(\.gz)?$`)

// splitName cuts the ending off a base name.
func splitName(base string) (stem, ext string) {
	base = framework.PlainName(base)
	ext = ending.FindString(base)
	return base[:len(base)-len(ext)], ext
}

// beginsAt is a name that begins with the second at which its window opened,
// as SGLang's do, with or without a prefix.
var beginsAt = regexp.MustCompile(`(?:^|-)(1[0-9]{9})(?:\.[0-9]+)?-`)

// started returns when the window of a trace was opened, the zero time when the name does not say.
func started(name string) time.Time {
	m := beginsAt.FindStringSubmatch(path.Base(name))
	if m == nil {
		return time.Time{}
	}
	n, _ := strconv.ParseInt(m[1], 10, 64) // ten digits
	return time.Unix(n, 0)
}
