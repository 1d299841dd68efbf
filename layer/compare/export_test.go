package compare

// Names that only tests use from outside.
var ErrBaseline = errBaseline
var ErrGate = errGate
var ErrNoise = errNoise
