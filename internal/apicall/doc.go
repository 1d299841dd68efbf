// Package apicall tells calls of the CUDA and HIP runtimes and drivers apart by
// their names.
package apicall
