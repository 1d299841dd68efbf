// Package built makes traces of what tests put together. It is apart from package testdata, which tests of the readers
// below package trace import, and from package hosttest, which links SQLite.
package built
