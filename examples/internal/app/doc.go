// Package app is what all example programs share: the common flags with their
// help, exit codes, the output file, progress, the announced demo trace, and
// the end on a signal or a closed pipe.
//
// A program describes itself as a [Program] and its main function is one line:
//
//	func main() { app.Main(program()) }
//
// where program returns a fresh Program whose Flags and Run share the variables
// of its own flags.
//
// Everything that happens is reached through [Program.Exec], which takes its
// arguments and streams as parameters, so that tests run the program in their
// own process.
//
// Exit codes: 0 for success and for output to a closed pipe, 1 for an error
// (one line on stderr), 2 for wrong usage, 3 if a condition that was asked
// for (--fail-on) is met, 4 if that cannot be decided. With 3 and 4 the output
// is complete, in a file, too.
package app
