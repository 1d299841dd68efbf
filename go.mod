module github.com/llmstrata/strata

go 1.25.0
