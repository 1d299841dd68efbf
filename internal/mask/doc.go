// Package mask keeps keys and passwords out of files that are made to be sent:
// slices, annotated copies, bundles, baselines and pages.
package mask
