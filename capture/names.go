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
var notTraces = []string{"server_args.json", "metadata.json", "config.json", "capture.json", "capture-session.json",
	"matrix-state.json", "probe.json"}

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
	return strings.HasSuffix(b, ".json") || strings.HasSuffix(b, ".json.gz")
}

// partialEndings mark a file that its writer will rename when it is done.
var partialEndings = []string{".tmp", ".part", ".partial", ".incomplete"}

// isPartial reports whether name is a trace not yet renamed.
func isPartial(name string) bool {
	b := strings.ToLower(path.Base(name))
	for _, e := range partialEndings {
		if strings.HasSuffix(b, e) || strings.HasSuffix(strings.TrimSuffix(b, ".gz"), e) {
			return strings.Contains(b, ".json") || strings.Contains(b, "trace")
		}
	}
	return false
}

// isFrontend recognises the trace of the process that takes requests, which has no GPU: vLLM names it after its class.
func isFrontend(name string) bool { return strings.Contains(path.Base(name), ".async_llm.") }

// splitName cuts the longest known ending off a base name.
func splitName(base string) (stem, ext string) {
	base = framework.PlainName(base)
	for _, e := range []string{".pt.trace.json.gz", ".trace.json.gz", ".pt.trace.json", ".trace.json", ".json.gz",
		".json"} {
		if strings.HasSuffix(strings.ToLower(base), e) {
			return base[:len(base)-len(e)], base[len(base)-len(e):]
		}
	}
	return base, ""
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
