module github.com/llmstrata/strata

go 1.25.0

require (
	github.com/goccy/go-json v0.12.0
	github.com/google/go-cmp v0.7.0
	github.com/google/pprof v0.0.0-20260802141513-ef3492d7dac3
	github.com/ianlancetaylor/demangle v0.0.0-20260724033716-83e58baca724
	github.com/klauspost/compress v1.20.4
	golang.org/x/sync v0.22.0
	google.golang.org/protobuf v1.36.12
)
