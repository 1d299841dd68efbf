// Package pftrace reads Perfetto's own trace format as PyTorch's CUPTI monitor writes it: files that end in .pftrace.
//
// Three forms are read: GPU activities as slices on tracks of streams, as render-stage events, and the latter with
// categories. Where a file has no categories, the kind of an event follows from what it carries. docs/format/pftrace.md
// describes the forms and what they lack. [Write] writes the third one, of any trace.
package pftrace
