// Package triage finds fusions by the published rule: a path is active where the names, source lines and ops of
// kernels hold one of its words, and split where they hold one word of each of its groups.
//
// Words are compared as letters and digits only, so that "rope" is found in ck::tensor_operation. What it says is no
// evidence; package triage at the top of the module asks for chains of kernels instead.
package triage
