module github.com/llmstrata/strata

go 1.25.0

require (
	github.com/goccy/go-json v0.12.0
	github.com/google/go-cmp v0.7.0
	github.com/ianlancetaylor/demangle v0.0.0-20260724033716-83e58baca724
	github.com/klauspost/compress v1.20.3
)
