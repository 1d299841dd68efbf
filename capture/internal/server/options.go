package server

import (
	"net/http"
	"time"

	"github.com/llmstrata/strata/capture/internal/label"
	"github.com/llmstrata/strata/internal/framework"
)

// Kind names a server that there is a driver for.
type Kind string

// The servers.
const (
	SGLang     Kind = "sglang"
	VLLM       Kind = "vllm"
	TensorRT   Kind = "tensorrt-llm"
	TokenSpeed Kind = "tokenspeed"
)

// Title is the name as its makers write it.
func (k Kind) Title() string {
	if f, ok := framework.ByName(framework.All(), string(k)); ok {
		return f.Name
	}
	return string(k)
}

// ClockSlack is how far two clocks may differ that were compared by the Date
// of an HTTP answer, whole seconds on both sides.
const ClockSlack = 2 * time.Second

// Options are what is said to a server. All of them are set.
type Options struct {
	// URL, Header and HTTPClient are how it is reached.
	URL        string
	Header     http.Header
	HTTPClient *http.Client
	// Model is sent with OpenAI requests, "" for the first it lists.
	Model string
	// InfoTimeout, StartTimeout and RequestTimeout bound one request each.
	InfoTimeout, StartTimeout, RequestTimeout time.Duration
	// Separated names the workload that separates the stages itself, "" for
	// one that does not.
	Separated string
	// The rest goes into the start request.
	ProfileByStage, MergeProfiles bool
	ProfilePrefix                 string
	StartStep                     int
	WithStack, RecordShapes       *bool
	Activities                    []string
}

// Info is what a server says of itself.
type Info struct {
	// Endpoint is where it said so.
	Endpoint string
	Model    string
	Version  string
	// Sizes of the parallel dimensions, 0 when not said.
	TP int
	PP int
	DP int
	EP int
	// Note says what could not be learnt, "" for nothing.
	Note string
	// ChunkedPrefill is the most tokens of a prompt that one pass takes, 0 when
	// not said: a longer prompt runs in several.
	ChunkedPrefill int
	// Expected are the processes that write a trace each, nil when unknown.
	Expected []label.Rank
	// Document is the whole answer, secrets blotted out.
	Document map[string]any
}

// FirstString is the first of keys with a string that is not empty.
func FirstString(doc map[string]any, keys ...string) string {
	for _, k := range keys {
		if s, ok := doc[k].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// intField is a whole number, 0 for anything else.
func intField(doc map[string]any, key string) int {
	if f, ok := doc[key].(float64); ok && f >= 0 && f <= 1<<20 && f == float64(int(f)) {
		return int(f)
	}
	return 0
}
