package triage

// ReadServerArgs is for tests.
var ReadServerArgs = readServerArgs
