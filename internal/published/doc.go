// Package published reproduces the numbers of scripts that were published before this module existed, bug for bug, so
// that old reports can be compared with new ones. It is no place for better answers: package layer and the others
// have those.
//
// The packages below it hold one rule each and know packages trace, classify and profile only, so that the rest of
// the module is free to change: blocks cuts layers where an anchor kernel opens a block (--boundaries anchor-opens),
// which this package turns into an analysis of package layer; host computes the ratios of the host-overhead detector
// (host-detect
// --comparable); triage finds fusions by words (triage --fuse-mode keyword). What is the same is the numbers, not the layout
// of the reports.
package published
