// Package demo holds the trace that the example programs show when none is
// given, and the config.json of its model. It is made up by package internal/gen ([gen.Demo] says what it is), so
// the truth about each of its kernels is known: see [Truth].
package demo
