package scan

import (
	"bytes"
	"encoding/json"
)

// magics are the first bytes of what people pass instead of a trace.
var magics = []struct {
	magic, what string
}{
	{"SQLite format 3\x00", "an SQLite database; if it is an Nsight Systems export, package trace/nsys reads it"},
	{"QDSTRM", "a raw Nsight Systems capture; export it with: nsys export --type sqlite"},
	{"PK\x03\x04", "a zip archive inside compressed data; unpack it first"},
	{"PK\x05\x06", "an empty zip archive"},
	{"7z\xbc\xaf\x27\x1c", "a 7-Zip archive; unpack it first"},
	{"Rar!", "a RAR archive; unpack it first"},
	{"\x04\x22\x4d\x18", "lz4-compressed; unpack it first, or use gzip or zstd"},
	{"\xff\xfe", wideText},
	{"\xfe\xff", wideText},
	{"\x1f\x8b", "gzip data inside compressed data; unpack the outer one: unzip FILE, or gunzip FILE"},
	{"\x28\xb5\x2f\xfd", "zstd data inside compressed data; unpack it once"},
	{"\xfd7zXZ\x00", "xz-compressed; unpack it: xz -d FILE"},
	{"BZh", "bzip2 data inside compressed data, or damaged; unpack it first"},
	{"NVR\x00", "an Nsight Compute report (.ncu-rep), which holds single kernels and no times; record with: nsys " +
		"profile --trace=cuda,nvtx COMMAND"},
	{"version https://git-lfs", "a Git LFS pointer, not the file itself; fetch it with: git lfs pull"},
	{"\x7fELF", "an executable or library"},
	{"\x89HDF", "an HDF5 file; an Nsight Systems report is exported with: nsys export --type sqlite"},
	{"PAR1", "a Parquet file" + nsysTables},
	{"ARROW1", "an Arrow file" + nsysTables},
	{"\x80\x02", "a Python pickle; a CUDA memory snapshot opens at https://pytorch.org/memory_viz"},
	{"\x80\x04", "a Python pickle, perhaps a CUDA memory snapshot; it opens at https://pytorch.org/memory_viz"},
	{"\x80\x05", "a Python pickle; a CUDA memory snapshot opens at https://pytorch.org/memory_viz"},
	{"\x0a", "a binary file, perhaps a Perfetto trace (protobuf)"},
	{"%PDF", "a PDF document"},
	{"\x89PNG", "a PNG image"},
}

// nsysTables is what is said of the files that Nsight Systems exports tables to.
const nsysTables = "; of an Nsight Systems report make an SQLite database instead: nsys export --type sqlite " +
	"REPORT.nsys-rep"

// wideText is what is said of texts that some shells write when redirecting.
const wideText = "UTF-16 text; convert it with: iconv -f UTF-16 -t UTF-8"

// tarMagic is in the first header of an archive.
const tarMagic = "ustar"

// tarBlock is the unit of tar archives; an empty one is blocks of zeros.
const tarBlock = 512

// isTar reports a POSIX or GNU tar archive, whose magic is in the middle of
// its first header.
func isTar(head []byte) bool { return len(head) >= 262 && string(head[257:262]) == tarMagic }

// Sniff looks at the first bytes of a stream (a few hundred are enough). It
// returns "" if they may begin trace JSON, damaged perhaps, and otherwise what
// the file seems to be, worded to follow "it seems to be".
func Sniff(head []byte) string {
	what, known := sniff(head)
	if what != "" && !known && hasOwnKey(head) {
		return ""
	}
	return what
}

// IsUnknown reports whether these first bytes begin like nothing that is known.
func IsUnknown(head []byte) bool {
	what, known := sniff(head)
	return what != "" && !known
}

// hasOwnKey reports whether a key that is before a trace's events
// is in head: what begins like nothing known is then a damaged trace.
func hasOwnKey(head []byte) bool {
	for p := 0; ; p++ {
		q := bytes.IndexByte(head[p:], '"')
		if q < 0 {
			return false
		}
		p += q
		end := keyAt(head, p+1, isDocumentKey)
		if end < 0 {
			continue
		}
		if end = skipSpace(head, end); end < len(head) && head[end] == ':' {
			return true
		}
	}
}

func isBracket(c byte) bool { return c == '{' || c == '[' }

// sniff is Sniff without damaged traces; known reports that the file is known.
func sniff(head []byte) (what string, known bool) {
	trimmed := bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(trimmed) == 0 {
		if len(head) == 0 {
			return "empty", true
		}
		return "blank", true
	}
	if len(trimmed) > 1 && (isBracket(trimmed[0]) && trimmed[1] == 0 || trimmed[0] == 0 && isBracket(trimmed[1])) {
		return wideText, true
	}
	switch trimmed[0] {
	case '{':
		if rest := bytes.TrimLeft(trimmed[1:], " \t\r\n"); len(rest) > 0 && rest[0] != '"' && rest[0] != '}' {
			return "not JSON, though it begins with a brace", false
		}
		return "", true
	case '[':
		rest := bytes.TrimLeft(trimmed[1:], " \t\r\n,")
		switch {
		case len(rest) > 1 && bytes.HasPrefix(bytes.TrimLeft(rest[1:], " \t\r\n"), []byte(`"children"`)):
			return `a Proton profile as a tree of sums, which has no times; start Proton with data="trace"`, false
		case len(rest) == 0 || rest[0] == '{' || rest[0] == ']':
			return "", true
		case rest[0] == '[':
			return "a JSON array of arrays, such as a memory timeline", false
		}
		return "a JSON array of something other than events", false
	case '<':
		if low := bytes.ToLower(trimmed[:min(len(trimmed), 256)]); bytes.Contains(low, []byte("html")) {
			return "an HTML page, perhaps of an error or a login; download again: curl -fLO URL", true
		}
		return "an XML document", false
	}
	if isTar(head) {
		return "a tar archive; unpack it and name the trace in it", true
	}
	if len(head) >= tarBlock && len(bytes.Trim(head, "\x00")) == 0 {
		return "an empty tar archive, or a file of zeros", true
	}
	if json.Valid(trimmed) {
		return "JSON without traceEvents", false
	}
	for _, m := range magics {
		if bytes.HasPrefix(head, []byte(m.magic)) {
			return m.what, true
		}
	}
	for _, c := range head[:min(len(head), 64)] {
		if c < ' ' && !isSpace(c) || c == 0x7f {
			return "a binary file of no kind known here; an Nsight Systems report (.nsys-rep) is exported with: nsys export " +
				"--type sqlite", false
		}
	}
	return text(head), false
}

// text says what a text is that is no JSON.
func text(head []byte) string {
	switch low := bytes.ToLower(head); {
	case bytes.Contains(low, []byte("kernel_name")), bytes.Contains(low, []byte("kernelname")):
		return "a rocprof CSV table; record JSON: rocprofv3 --kernel-trace --output-format json -- COMMAND"
	case bytes.Contains(low, []byte("cuda gpu kernel summary")), bytes.Contains(low, []byte("processing [")):
		return "text that nsys stats printed; export the report: nsys export --type sqlite REPORT.nsys-rep"
	}
	return "text that is not JSON"
}

// IsTrace reports whether keys were seen that are beside a trace's events.
func (r *Result) IsTrace() bool {
	own := func(key string) bool { return isDocumentKey([]byte(key)) }
	for _, m := range r.Metas {
		if own(m.Key) {
			return true
		}
	}
	for _, l := range r.Losses.First {
		if own(l.Key) {
			return true
		}
	}
	return false
}

// Describe says what a JSON stream without trace events seems to be.
func (r *Result) Describe() string {
	keys := map[string]bool{}
	for _, m := range r.Metas {
		keys[m.Key] = true
	}
	for _, l := range r.Losses.First {
		if l.Key != "" {
			keys[l.Key] = true // a value too large to keep
		}
	}
	switch {
	case keys["rocprofiler-sdk-tool"]:
		return "rocprofv3's own JSON, which is not read; record with torch.profiler, which uses the same library on ROCm"
	case keys["nodes"]:
		return "a PyTorch execution trace (Chakra nodes), which has no times of GPU work"
	case keys["architectures"] || keys["model_type"]:
		return "a model's config.json"
	case keys["model_path"] || keys["tp_size"]:
		return "a server's arguments"
	case keys["device_traces"] || keys["segments"]:
		return "a CUDA memory snapshot"
	case keys["resourceSpans"]:
		return "OpenTelemetry spans"
	case keys["profiles"]:
		return "a profile in another format (speedscope?)"
	case r.HasEvents:
		return "JSON without trace events that can be read"
	case r.Docs > 0 && r.Truncated:
		return "JSON that ends too early, without traceEvents"
	case r.Docs > 1:
		return "JSON lines, not one document with traceEvents; a profiler's own file is needed"
	case r.Docs > 0:
		return "JSON without traceEvents"
	}
	return "text that is not JSON"
}
