// Fingerprint runs every program on every trace in every format and prints a
// hash of each document, so that a commit that only moves code can show that no
// answer changed:
//
//	go run ./internal/fingerprint -o /tmp/old.txt             # before, in a clean checkout
//	go run ./internal/fingerprint -o /tmp/new.txt             # after
//	go run ./internal/fingerprint -diff /tmp/old.txt /tmp/new.txt
//
// A line holds program, trace, format and the SHA-256 of the document. -diff
// lists the documents that differ and exits with 1 where any does. -only takes a
// regular expression over "program trace format", -keep a directory for the
// documents themselves, so that "diff -r" shows what changed in them:
//
//	go run ./internal/fingerprint -only 'triage .* json' -keep /tmp/docs
//
// Formats in which people read are in besides those for machines; "-only
// 'json|csv|pprof'" leaves them out and takes half the time.
//
// # NOTE
//
// The traces are those of ../shared/traces where it exists, the built-in demo
// and generated ones. Programs run in a scratch directory where the traces have
// the same relative names in every checkout, since documents name their input.
// A failing program's document is its exit code and message. The demo and the
// generated traces are made by the checkout under test: a change of the
// generator shows as a change of documents.
package main
