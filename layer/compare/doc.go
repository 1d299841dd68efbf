// Package compare says what differs between two runs of a model, by operator: also between frameworks and GPUs, whose kernels have no names in
// common.
//
// Passes are matched by stage, batch and tokens. Their times are divided into rows that add up to the pass: operators, copies, waiting, idle
// time. A row is a finding only where it differs by more than two runs of the same program do; see params.go for what that rests on. [Report] is
// the result, [Gate] a condition for continuous integration.
package compare
