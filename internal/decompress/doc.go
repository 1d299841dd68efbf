// Package decompress opens gzip, zstd and plain streams with one reader,
// telling them apart by their first bytes and never by a file name.
package decompress
