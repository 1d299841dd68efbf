module github.com/llmstrata/strata

go 1.25.0

require github.com/google/go-cmp v0.7.0
