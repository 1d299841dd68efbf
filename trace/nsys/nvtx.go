package nsys

import (
	"strconv"
	"strings"

	"github.com/llmstrata/strata/trace/event"
)

// NVTX event types, as ENUM_NSYS_EVENT_TYPE lists them.
const (
	nvtxCategory      = 33
	nvtxMark          = 34
	nvtxThread        = 39
	nvtxDomainCreate  = 75
	nvtxDomainDestroy = 76

	// The same of imported NVTXT text logs.
	nvtxtCategory    = 64
	nvtxtMark        = 65
	nvtxtMetaThread  = 72
	nvtxtMetaProcess = 73
)

// domainKey: domain ids are per process.
type domainKey struct{ process, domain int64 }

// readDomains reads the names of NVTX domains, which are rows of their own and
// need not come first.
func (l *loader) readDomains() error {
	if !wantsRanges(l.cfg) || !l.db.hasColumn(tableNVTX, "domainId") || !l.db.hasColumn(tableNVTX, "eventType") {
		return nil
	}
	return l.db.scan(tableNVTX, []string{"eventType", "domainId", "globalTid", "text", "textId"}, func(r row) error {
		if r.Int(0) != nvtxDomainCreate {
			return nil
		}
		if name := l.rangeText(r, 3, 4); name != "" {
			l.domains[domainKey{r.Int(2) >> 24, r.Int(1)}] = name
		}
		return nil
	})
}

func (f *facts) rangeText(r row, text, textID int) string {
	if s := r.Text(text); s != "" {
		return s
	}
	return f.name(r.intOr(textID, -1))
}

// domain names a domain; the default one, 0, has no name.
func (f *facts) domain(global, id int64) string {
	if id == 0 {
		return ""
	}
	if name, ok := f.domains[domainKey{global >> 24, id}]; ok {
		return name
	}
	return "domain " + strconv.FormatInt(id, 10)
}

func (s *scanner) readRanges() error {
	cols := []string{"start", "end", "eventType", "text", "textId", "globalTid", "domainId"}
	return s.read(tableNVTX, cols, func(r row) {
		kind := event.Range
		switch r.Int(2) {
		case nvtxCategory, nvtxThread, nvtxDomainCreate, nvtxDomainDestroy, nvtxtCategory, nvtxtMetaThread,
			nvtxtMetaProcess:
			return // declarations, not events
		case nvtxMark, nvtxtMark:
			kind = event.Mark
		}
		start, end := r.time(0), r.Int(1)
		if start == noTime {
			s.noTime++
			return
		}
		// A mark has no end. Neither has a range that was open when the
		// recording stopped: it is kept as the mark of its beginning.
		if end <= 0 && start >= 0 {
			kind, end = event.Mark, start
		}
		name := s.rangeText(r, 3, 4)
		if name == "" {
			s.noText++
			return
		}
		global := r.Int(5)
		e := s.hostEvent(kind, global, name)
		e.Domain = s.domain(global, r.Int(6))
		if op, shape, ok := cutOp(name); ok && e.Domain == "" && kind == event.Range {
			e.Kind, e.Name, e.Shape = event.Op, op, shape
		}
		s.add(e, start, end)
	})
}

// cutOp takes apart the text that torch.autograd.profiler.emit_nvtx gives an
// operator: "aten::mm, op_id = 12", "aten::mm, seq = 3, op_id = 12, sizes =
// [[2, 3], [3, 4]]". Only names with a namespace are operators; a
// record_function under emit_nvtx keeps its text.
func cutOp(text string) (op, sizes string, ok bool) {
	i := strings.Index(text, ", ")
	if i < 0 || !strings.Contains(text[:i], "::") {
		return "", "", false
	}
	rest := text[i+2:]
	if !strings.HasPrefix(rest, "op_id = ") && !strings.HasPrefix(rest, "seq = ") {
		return "", "", false
	}
	if j := strings.Index(rest, "sizes = ["); j >= 0 {
		sizes = rest[j+len("sizes = "):]
		// Later fields follow the closing bracket.
		if k := strings.Index(sizes, "], "); k >= 0 &&
			strings.Count(sizes[:k+1], "[") == strings.Count(sizes[:k+1], "]") {
			sizes = sizes[:k+1]
		}
	}
	return text[:i], sizes, true
}
