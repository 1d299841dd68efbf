package triage

// Names that only tests use from outside.
const FromPrefill = placedFromPrefill
const GraphReplay = graphReplay
const ModeMappingFormal = modeMappingFormal
const StageDecode = stageDecode
const StageExtend = stageExtend
const StateActive = stateActive
const StateAvailable = stateAvailable
const StateElsewhere = stateElsewhere
const StateModel = stateModel
const StateOpen = stateOpen
const StateTooLarge = stateTooLarge
const StateUnknown = stateUnknown
const Unresolved = unresolved

var ErrDiffusers = errDiffusers
var ErrMissingReports = errMissingReports
