// Package opname holds the names of operators: which part of a language model a
// kernel computes. They are the words of the module attributes in vLLM and
// SGLang, one flat list. Every package that finds, plans, counts or prints
// operators takes them from here; docs/operators.md says what each means.
package opname
