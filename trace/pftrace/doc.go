// Package pftrace reads Perfetto's own trace format as PyTorch's CUPTI monitor writes it: files that end in .pftrace.
//
// Two forms are read: GPU activities as slices on tracks of streams, and as render-stage events. What PyTorch's JSON says in a category
// is not in these files; the kind of an event is told by what it carries, see kindOf. docs/format/pftrace.md describes both forms and what
// they lack.
package pftrace
