// Package hostcompare says what the steps of a run are made of on the host, and which operation became slower between two runs.
//
// [Breakdown] finds the iterations and the steady steps of one run and sums what a step spends on each range, kernel and API call;
// [Compare] sets two runs against each other; [Series] gives the same figures step by step to a comparison of several runs.
// [Comparison.Handoff] sums a verdict of package hostoverhead up for whoever optimises next.
package hostcompare
