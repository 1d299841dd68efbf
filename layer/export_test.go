package layer

// LayoutOf is layoutOf for tests of the engine below it.
var LayoutOf = layoutOf
