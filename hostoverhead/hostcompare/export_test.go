package hostcompare

// Names that only tests use from outside.
const ConclusionFaster = conclusionFaster
const ConclusionGap = conclusionGap
const ConclusionNone = conclusionNone
const ConclusionStep = conclusionStep
const StatusImproved = statusImproved
const StatusNew = statusNew
const StatusRegression = statusRegression
const StatusRemoved = statusRemoved
const StatusRenamed = statusRenamed
