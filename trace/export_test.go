package trace

// Names that only tests use from outside.
const LossNegativeDuration = lossNegativeDuration
const LossNotCollected = lossNotCollected
const LossUnknownKind = lossUnknownKind
