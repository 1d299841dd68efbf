package trace

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/internal/scan"
)

// kinetoMeta makes Meta of a file's top-level values, which kineto writes in any
// order, before the events or after them. The first document's values win where
// several documents were concatenated. A value that is no valid JSON is counted
// and left out; under strict it is an error.
func kinetoMeta(b *Builder, values []scan.Meta, strict bool) (Meta, error) {
	m := Meta{Source: sourceTorch, Rank: -1, Extra: map[string]json.RawMessage{}}
	firstDoc := map[string]int{}
	for _, v := range values {
		key := string(scan.AppendText(nil, []byte(v.Key)))
		if d, ok := firstDoc[key]; ok && d != v.Doc {
			continue
		}
		firstDoc[key] = v.Doc
		if !json.Valid(v.Value) {
			if strict {
				return m, &SyntaxError{Offset: v.Offset, Path: "/" + key, Err: scan.ErrSyntax}
			}
			b.Lose(LossBadEvent, v.Offset)
			b.LoseDetail(LossBadEvent, 0, "top-level value "+strconv.Quote(key))
			continue
		}
		m.set(key, v.Value)
	}
	return m, nil
}

// setRank completes the rank of m: what distributedInfo says, else the file's
// name, else the args of collectives, if these agree. A name that says "rank" and
// another one than distributedInfo is noted: one of them was copied.
func (b *Builder) setRank(m *Meta, args seenRank) {
	name := framework.ReadFileName(framework.All(), m.Path)
	switch {
	case m.Rank >= 0:
		if name.Label == "rank" && name.Rank != m.Rank {
			b.notes = append(b.notes, Finding{Code: "rank-clash", Severity: HealthOK, Count: 1,
				Message: fmt.Sprintf("the file's name says rank %d, its distributedInfo %d, which is taken", name.Rank, m.Rank)})
		}
	case name.Rank >= 0:
		m.Rank = name.Rank
	case args.any && !args.mixed:
		m.Rank = args.rank
	}
}

// set takes one valid top-level value. Values of an unexpected type are kept
// in Extra.
func (m *Meta) set(key string, v json.RawMessage) {
	ok := true
	switch key {
	case "baseTimeNanoseconds":
		n, err := strconv.ParseInt(string(bytes.Trim(v, `"`)), 10, 64)
		if ok = err == nil; ok {
			m.BaseTime = n
		}
	case "traceName":
		ok = json.Unmarshal(v, &m.TraceName) == nil
	case "schemaVersion":
		m.Format = string(bytes.Trim(v, `"`))
	case "with_stack":
		m.WithStack, ok = truth(v)
	case "record_shapes":
		m.RecordShape, ok = truth(v)
	case "deviceProperties":
		var ds []struct {
			ID             DeviceID `json:"id"`
			Name           string   `json:"name"`
			TotalGlobalMem int64    `json:"totalGlobalMem"`
			NumSms         int      `json:"numSms"`
			ComputeMajor   int      `json:"computeMajor"`
			ComputeMinor   int      `json:"computeMinor"`
			WarpSize       int      `json:"warpSize"`
		}
		ok = json.Unmarshal(v, &ds) == nil
		seen := map[DeviceID]bool{}
		for _, d := range ds {
			if seen[d.ID] { // merged files list every rank's devices
				continue
			}
			seen[d.ID] = true
			m.Devices = append(m.Devices, GPU{ID: d.ID, Name: d.Name, MemoryBytes: d.TotalGlobalMem, SMs: d.NumSms,
				ComputeMajor: d.ComputeMajor, ComputeMinor: d.ComputeMinor, WarpSize: d.WarpSize})
		}
	case "distributedInfo":
		m.Distributed = v
		var di struct {
			Rank      json.RawMessage `json:"rank"`
			WorldSize json.RawMessage `json:"world_size"`
			Backend   json.RawMessage `json:"backend"`
		}
		if json.Unmarshal(v, &di) == nil {
			if n, ok := wholeNumber(di.Rank); ok {
				m.Rank = n
			}
			m.WorldSize, _ = wholeNumber(di.WorldSize)
			_ = json.Unmarshal(di.Backend, &m.Backend)
		}
	default:
		ok = false
	}
	if !ok {
		m.Extra[key] = v
	}
}

// wholeNumber reads a small non-negative number, quoted or not.
func wholeNumber(v json.RawMessage) (int, bool) {
	n, err := strconv.Atoi(string(bytes.Trim(v, `"`)))
	return n, err == nil && n >= 0
}

// truth reads 0, 1, true or false.
func truth(v json.RawMessage) (value, ok bool) {
	switch string(bytes.Trim(v, `"`)) {
	case "1", "true", "True":
		return true, true
	case "0", "false", "False":
		return false, true
	}
	return false, false
}
