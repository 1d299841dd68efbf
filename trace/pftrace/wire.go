package pftrace

import "github.com/llmstrata/strata/internal/wire"

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

// numbered reads a message of an id, field 1, and a value of one field, a number or a text.
func numbered(m []byte, field int) (id, num uint64, text []byte, ok bool) {
	ok = true
	for f, v := range wire.Fields(m, &ok) {
		switch f {
		case 1:
			id = v.Num
		case field:
			num, text = v.Num, v.Bytes
		}
	}
	return id, num, text, ok
}
