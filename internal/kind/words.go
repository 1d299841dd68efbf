package kind

// Keys of the args of Kineto's events. Converters to Perfetto's format keep them; Alt… are other spellings of the
// same key, of older versions or of a converter.
const (
	ArgGrid         = "grid"
	ArgBlock        = "block"
	ArgRank         = "Rank"
	ArgBytes        = "bytes"
	ArgDevice       = "device"
	ArgStream       = "stream"
	ArgGraphID      = "graph id"
	ArgGraphNode    = "graph node id"
	ArgFinished     = "finished"
	ArgCorrelation  = "correlation"
	ArgExternalID   = "External id"
	AltExternalID   = "external id"
	ArgInputDims    = "Input Dims"
	AltInputDims    = "Input dims"
	ArgInputType    = "Input type"
	ArgInputStrides = "Input Strides"
	ArgInputValues  = "Concrete Inputs"
	ArgCallStack    = "Call stack"
	ArgElements     = "In msg nelems"
	ArgElementType  = "dtype"
	ArgGroupName    = "Process Group Name"
	ArgGroupRanks   = "Process Group Ranks"
)

// Keys of an event that are read apart from the scanner's first letters, and the key of the document's events.
const (
	KeyName     = "name"
	KeyArgs     = "args"
	KeyDuration = "dur"
	KeyEvents   = "traceEvents"
)

// Keys beside the events.
const (
	KeyBaseTime      = "baseTimeNanoseconds"
	KeyTraceName     = "traceName"
	KeySchemaVersion = "schemaVersion"
	KeyTimeUnit      = "displayTimeUnit"
	KeyWithStack     = "with_stack"
	KeyRecordShapes  = "record_shapes"
	KeyDevices       = "deviceProperties"
	KeyDistributed   = "distributedInfo"
)

// Names of the events that describe rows, and keys of their args beside the name.
const (
	ProcessName = "process_name"
	ThreadName  = "thread_name"
	SortIndex   = "sort_index"
	Labels      = "labels"
)

// The category and name of the arrows from launches to what they launch, and the category of PyTorch before 2.0.
const (
	FlowCategory    = "ac2g"
	AltFlowCategory = "async_cpu_to_gpu"
)

// Values of JSON.
const (
	False = "false"
	Null  = "null"
)
