// Package whole takes any trace the whole way, for tests: through every accessor,
// every analysis and every writer of copies. Its fuzz targets are here, beside no
// database: what a target's binary holds is compared after each input.
package whole
