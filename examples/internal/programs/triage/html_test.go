package triage

import (
	"testing"

	"github.com/llmstrata/strata/examples/internal/apptest"
)

func TestHTML(t *testing.T) { apptest.HTML(t, Program) }
