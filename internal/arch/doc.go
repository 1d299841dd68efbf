// Package arch checks the house rules of this module: which package may import
// which, what every file and package must carry, and what a test must do.
//
// The rules are ordinary functions over parsed files. They parse in-process
// instead of asking the go command, so that the test cache sees every file
// they read and an edit anywhere in the module runs them again.
package arch
