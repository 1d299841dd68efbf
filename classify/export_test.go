package classify

// Names that only tests use from outside.
var WriteRules = writeRules
