// Package profile holds what is known about a model before its trace is read:
// a [ModelProfile] says how the kernels of one model family are cut into layers
// and named, a [Config] is the model's own config.json under one set of names,
// whatever the vendor called them.
//
// Both are data. Three profiles are built in (dsv4_csa_hca, dsv3_mla, generic)
// beside some that only add category rules; [Resolve] knows them by name, and
// reads those that users write as JSON (docs/profiles.md). [Infer] picks one from a Config,
// [FindConfig] looks for the config.json that belongs to a trace, and
// [InferParallelism] finds the tensor- and expert-parallel sizes. Whatever is
// inferred says from what.
//
// All values are plain data, safe for concurrent readers once built. Every
// document is treated as hostile: sizes, depths and counts are bounded and a
// wrong document is an error that names file, field and index.
package profile
