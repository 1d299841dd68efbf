// Package activity makes the GPU activities of traces ready for triage's tables: names, stages, operators and the
// Python lines that they come from are numbers of one [Pool], so that a formal and a mapping trace are compared by
// number. [Attribute] gives replays of graphs the lines of the launches that they replay.
//
// The names of Python frames, "path(line): function", are read here, too, and ranked by how specific they are about a
// kernel's source.
package activity
