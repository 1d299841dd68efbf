// Package blocks cuts a trace into passes and layers by the published rule: block k is anchor kernel k and what
// follows, up to anchor k+1.
//
// Only rows of category kernel count, sorted by start. What follows the last anchor belongs to nothing. A layer ends
// with the kernel that starts last, which need not be the one that ends last. Where the anchor closes a block in the
// model, as that of the DeepSeek profiles does, layers and halves come out shifted; the figures are kept all the
// same.
package blocks
