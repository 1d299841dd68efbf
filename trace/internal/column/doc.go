// Package column keeps the events of a trace's lanes in columns, and has what
// works on whole columns: sorting them, linking launches and activities, nesting,
// and recognising times that cannot be true. It knows numbers only; package
// trace says what they mean.
package column
