// Package published reproduces the numbers of scripts that were published before this module existed, bug for bug, so
// that old reports can be compared with new ones. It is no place for better answers: package layer and the others
// have those.
//
// --boundaries anchor-opens cuts passes and layers where an anchor kernel opens a block, and makes an analysis of package
// layer of them: block k is anchor kernel k and what follows, up to anchor k+1. Only rows of category kernel count,
// sorted by start. What follows the last anchor belongs to nothing. A layer ends with the kernel that starts last, which
// need not be the one that ends last. Where the anchor closes a block in the model, as that of the DeepSeek profiles
// does, layers and halves come out shifted; the figures are kept all the same.
//
// The packages below hold one rule each, over packages trace and classify only, so that whoever imports them may be
// imported by this one: host computes the ratios of the host-overhead detector (host-detect --comparable), triage finds
// fusions by words (triage --fuse-mode keyword). What is the same is the numbers, not the layout of the reports.
package published
