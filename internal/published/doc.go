// Package published reproduces the numbers of scripts that were published before this module existed, bug for bug, so
// that old reports can be compared with new ones. It is no place for better answers: package layer and the others
// have those. What is the same is the numbers, not the layout of the reports.
//
// Layers (--boundaries anchor-opens): block k is anchor kernel k and what follows, up to anchor k+1. Only rows of
// category kernel count, sorted by start. What follows the last anchor belongs to nothing. A layer ends with the kernel
// that starts last, which need not be the one that ends last. Where the anchor closes a block in the model, as that of
// the DeepSeek profiles does, layers and halves come out shifted; the figures are kept all the same.
//
// The host (host-detect --comparable): ratios of the whole window and of the context and generation steps of
// TensorRT-LLM. Kernels of all GPUs are one union, which hides an idle GPU beside a busy one; launches count only where
// the file writes cudaLaunchKernel without a version suffix; a phase is one window from its first step to its last,
// whatever lies between; host preparation is summed over ranks.
//
// Fusions (triage --fuse-mode keyword): a path is active where the names, source lines and ops of kernels hold one of
// its words, and split where they hold one word of each of its groups. Words are compared as letters and digits only,
// so that "rope" is found in ck::tensor_operation.
package published
