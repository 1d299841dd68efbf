// Package ranks writes the traces of fleets: replicas of several ranks that exchange data, with the truth about who
// waits for whom, for how long and why.
//
// The ranks of a replica run one program together: a gap, two kernels, a collective, layer by layer. A collective
// starts on a rank when that arrives and ends on all ranks of the group when the last one has arrived and the data has
// gone round. All times are integers; the truth is what the simulation did, not what a reader makes of it.
package ranks
