// Package arch holds this module to its architecture, in its tests.
package arch
