package hardware

// Names that only tests use from outside.
var ErrTable = errTable

var NumLatencies = len(architectures)
