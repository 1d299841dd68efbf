// Package ladder finds the forward passes among the kernels of one GPU and the layers in each. It climbs down a
// ladder of evidence: step annotations, module frames, graph replays, anchors, then the structure of the kernel
// sequence alone, which package segment judges. It knows nothing of reports: package layer turns what it finds into
// one.
package ladder
