package pftrace

import (
	"encoding/binary"
	"math/bits"

	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of google/perfetto's protos/perfetto/trace, and of PyTorch's extensions from 1000 on.
const (
	tracePacket = 1

	packetChrome      = 5
	packetClocks      = 6
	packetTrackEvent  = 11
	packetInterned    = 12
	packetTimestamp   = 8
	packetSequence    = 10
	packetFlags       = 13
	packetCounter     = 52
	packetRenderStage = 53
	packetDescriptor  = 60
	lastPacketField   = 1000 // those that are used end well below

	clockOne  = 1 // of a snapshot
	clockTime = 2 // of one of its clocks
	clockReal = 1
	clockBoot = 6

	chromeMetadata = 2 // of the values of Chrome, a name and a text each
	chromeName     = 1
	chromeText     = 2

	flagCleared = 1 // the names interned before no longer count

	internedCategories = 1
	internedNames      = 2
	internedArgNames   = 3
	internedStages     = 24
	internedCounters   = 47
	internedKernels    = 1000
	internedName       = 2
	internedKernel     = 3
	internedID         = 1
	internedArgString  = 29 // debug_annotation_string_values

	descriptorID      = 1
	descriptorName    = 2
	descriptorProcess = 3
	descriptorThread  = 4
	descriptorParent  = 5
	descriptorCounter = 8

	eventCategoryID = 3
	eventArg        = 4
	eventType       = 9
	eventNameID     = 10
	eventTrack      = 11
	eventCategory   = 22
	eventName       = 23
	eventInt        = 30
	eventDouble     = 44
	eventLaunch     = 3000
	typeBegin       = 1
	typeEnd         = 2
	typeInstant     = 3
	typeCounter     = 4

	argNameID   = 1
	argBool     = 2
	argUint     = 3
	argInt      = 4
	argDouble   = 5
	argString   = 6
	argName     = 10
	argEntry    = 11
	argElement  = 12
	argStringID = 17

	counterSpecs        = 1 // of a descriptor
	counterName         = 2 // of those
	counterDescriptor   = 1
	counterValue        = 2 // id 1, whole number 2, float 3
	counterDevice       = 3
	counterDescriptorID = 4

	stageEventID  = 1
	stageDuration = 2
	stageExtra    = 6
	stageDevice   = 11
	stageQueueID  = 13
	stageID       = 14
	stageKernelID = 19
	stageNameID   = 20
	stageLaunch   = 21
	launchGrid    = 1
	launchBlock   = 2
)

// argDomain is the name of the annotation that holds the domain of an NVTX range.
const argDomain = "NVTX domain"

// next reads the first field of a message that is not empty: num for numbers of all types, body for what has a
// length. Its number is 0 where the message is not well formed. Tags and lengths of one byte, which nearly all are,
// are read here; results stay in registers.
func next(m []byte) (id int, num uint64, body, rest []byte) {
	tag := uint64(m[0])
	m = m[1:]
	if tag >= 0x80 || tag < 1<<3 {
		var ok bool
		if tag, m, ok = longTag(tag, m); !ok {
			return 0, 0, nil, nil
		}
	}
	switch protowire.Type(tag & 7) {
	case protowire.VarintType, protowire.BytesType:
		if len(m) == 0 {
			return 0, 0, nil, nil
		}
		num = uint64(m[0])
		if num < 0x80 {
			m = m[1:]
		} else if num, m = varint(m); m == nil {
			return 0, 0, nil, nil
		}
		if tag&7 == uint64(protowire.VarintType) {
			return int(tag >> 3), num, nil, m
		}
		if num > uint64(len(m)) {
			return 0, 0, nil, nil
		}
		return int(tag >> 3), 0, m[:num], m[num:]
	case protowire.Fixed64Type:
		if len(m) < 8 {
			return 0, 0, nil, nil
		}
		return int(tag >> 3), binary.LittleEndian.Uint64(m), nil, m[8:]
	}
	n := protowire.ConsumeFieldValue(protowire.Number(tag>>3), protowire.Type(tag&7), m)
	if n < 0 {
		return 0, 0, nil, nil
	}
	return int(tag >> 3), 0, nil, m[n:]
}

// longTag reads on a tag that does not fit in its first byte.
func longTag(first uint64, m []byte) (tag uint64, rest []byte, ok bool) {
	if first < 0x80 { // the field's number is 0
		return 0, nil, false
	}
	more, n := protowire.ConsumeVarint(m)
	tag = first&0x7f | more<<7
	return tag, m[max(n, 0):], n > 0 && more < 1<<25 && tag>>3 > 0 && tag>>3 <= uint64(protowire.MaxValidNumber)
}

// varint reads a number, at once where at most nine bytes hold it and eight are there. What is after it is nil if it
// has no end.
func varint(m []byte) (uint64, []byte) {
	if len(m) >= 8 {
		x := binary.LittleEndian.Uint64(m)
		n := 8
		ends := ^x & 0x8080808080808080
		if ends != 0 {
			n = (bits.TrailingZeros64(ends) + 1) / 8
			x &= ends ^ (ends - 1) // the bits up to the byte that ends it
		}
		x = x&0x007f007f007f007f | x&0x7f007f007f007f00>>1
		x = x&0x00003fff00003fff | x&0x3fff00003fff0000>>2
		x = x&0x000000000fffffff | x&0x0fffffff00000000>>4
		if ends != 0 {
			return x, m[n:]
		}
		if len(m) > n && m[n] < 0x80 { // nine bytes, as wall-clock times have
			return x | uint64(m[n])<<56, m[n+1:]
		}
	}
	x, n := protowire.ConsumeVarint(m)
	if n < 0 {
		return 0, nil
	}
	return x, m[n:]
}

// numbered reads a message of an id, field 1, and a value of one field, a number or a text.
func numbered(m []byte, field int) (id, num uint64, text []byte, ok bool) {
	for len(m) > 0 {
		f, v, body, rest := next(m)
		switch m = rest; f {
		case 0:
			return id, num, text, false
		case 1:
			id = v
		case field:
			num, text = v, body
		}
	}
	return id, num, text, true
}
