package scan

import (
	"bytes"

	"github.com/llmstrata/strata/internal/kind"
)

// field is what a value that is after an event's time is.
type field uint8

const (
	fieldOther field = iota
	fieldDuration
	fieldGrid
	fieldBlock
	fieldRank
	fieldBytes
	fieldDevice
	fieldStream
	fieldGraphID
	fieldGraphNode
	fieldFinished
	fieldDims
	fieldStack
	fieldTypes
	fieldStrides
	fieldValues
	fieldCorrelation
	fieldExternalID
	fieldExchange // the first of ExchangeParts
)

// The parts of [Event.Exchange], which a collective has in its args.
const (
	ExchangeElements = iota
	ExchangeType
	ExchangeGroup
	ExchangeRanks
	ExchangeParts
)

// argField recognises a key of args.
func argField(key []byte) field {
	switch len(key) {
	case 4:
		switch string(key) {
		case kind.ArgGrid:
			return fieldGrid
		case kind.ArgRank:
			return fieldRank
		}
	case 5:
		switch string(key) {
		case kind.ArgBlock:
			return fieldBlock
		case kind.ArgBytes:
			return fieldBytes
		case kind.ArgElementType:
			return fieldExchange + ExchangeType
		}
	case 6:
		switch string(key) {
		case kind.ArgDevice:
			return fieldDevice
		case kind.ArgStream:
			return fieldStream
		}
	case 8:
		switch string(key) {
		case kind.ArgGraphID:
			return fieldGraphID
		case kind.ArgFinished:
			return fieldFinished
		}
	case 10:
		switch string(key) {
		case kind.ArgInputDims, kind.AltInputDims:
			return fieldDims
		case kind.ArgCallStack:
			return fieldStack
		case kind.ArgInputType:
			return fieldTypes
		}
	case 11:
		switch string(key) {
		case kind.ArgCorrelation:
			return fieldCorrelation
		case kind.ArgExternalID, kind.AltExternalID:
			return fieldExternalID
		}
	case 13:
		switch string(key) {
		case kind.ArgGraphNode:
			return fieldGraphNode
		case kind.ArgInputStrides:
			return fieldStrides
		case kind.ArgElements:
			return fieldExchange + ExchangeElements
		}
	case 15:
		if string(key) == kind.ArgInputValues {
			return fieldValues
		}
	case 18:
		if string(key) == kind.ArgGroupName {
			return fieldExchange + ExchangeGroup
		}
	case 19:
		if string(key) == kind.ArgGroupRanks {
			return fieldExchange + ExchangeRanks
		}
	}
	return fieldOther
}

// argValue parses the value of an arg at b[p].
func (f *parser) argValue(b []byte, p int, what field, ev *Event) (end int) {
	switch what {
	case fieldDevice:
		end = f.argInt(b, p, ev, &ev.Device, HasDevice)
	case fieldStream:
		end = f.argInt(b, p, ev, &ev.Stream, HasStream)
	case fieldCorrelation:
		end = f.argInt(b, p, ev, &ev.Correlation, HasCorrelation)
	case fieldExternalID:
		end = f.argInt(b, p, ev, &ev.ExternalID, HasExternalID)
	case fieldBytes:
		end = f.argInt(b, p, ev, &ev.Bytes, HasBytes)
	case fieldGraphID:
		end = f.argInt(b, p, ev, &ev.GraphID, HasGraphID)
	case fieldGraphNode:
		end = f.argInt(b, p, ev, &ev.GraphNode, HasGraphNode)
	case fieldRank:
		end = f.argInt(b, p, ev, &ev.Rank, HasRank)
	default:
		if end = skipValue(b, p, f.maxDepth); what != fieldOther && end > 0 {
			ev.keep(what, b[p:end])
		}
	}
	if end-p > smallestEvent && class[b[p]] == clOpen {
		f.lookInside(b[p:end])
	}
	return end
}

// keep keeps a value that is no number, if it begins as it must.
func (ev *Event) keep(what field, value []byte) {
	switch array := value[0] == '['; {
	case what >= fieldExchange:
		if !ev.Has.Any(HasExchange) { // what an event before had
			ev.Exchange = [ExchangeParts][]byte{}
		}
		ev.Exchange[what-fieldExchange] = value
		ev.Has |= HasExchange
	case what == fieldGrid && array:
		ev.Grid = value
		ev.Has |= HasGrid
	case what == fieldBlock && array:
		ev.Block = value
		ev.Has |= HasBlock
	case what == fieldDims && array:
		ev.Dims = value
		ev.Has |= HasDims
	case what == fieldTypes && array:
		ev.Types = value
		ev.Has |= HasTypes
	case what == fieldStrides && array:
		ev.Strides = value
		ev.Has |= HasStrides
	case what == fieldValues && array:
		ev.Values = value
		ev.Has |= HasValues
	case what == fieldStack && value[0] == '"':
		ev.Stack = value[1 : len(value)-1]
		ev.Has |= HasStack
	case what == fieldFinished:
		if string(bytes.Trim(value, `"`)) == kind.False {
			ev.Has |= HasUnfinished
		}
	}
}
