package nsys

// Names that only tests use from outside.
var ErrDamaged = errDamaged
var ErrNoTool = errNoTool
var ErrNotExport = errNotExport
var ErrTruncated = errTruncated
var StripVersion = stripVersion
