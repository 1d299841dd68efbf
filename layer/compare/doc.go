// Package compare says what differs between two runs of a model, by operator: also between frameworks and GPUs, whose
// kernels have no names in common.
//
// Passes are compared that do the same work: those of one identity (model, path, stage, tokens, requests, as far as
// they are known) that run the same kernels, or else those of one model and stage whose operators are alike. What has
// no partner is named; where that is most of a side there is no verdict. The times of passes are divided into rows
// that add up to the step: operators, copies, waiting, idle time. A row is a finding only where its kernels differ by
// more than two runs of the same program do; see params.go for what that rests on. [Report] is the result, [Outcome]
// its verdict, which speaks of the step's time first, [Gate] a condition for continuous integration.
package compare
