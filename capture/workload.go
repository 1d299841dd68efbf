package capture

import (
	"strconv"
	"strings"
)

// stagePlan are the requests of one stage.
type stagePlan struct {
	stage           Stage
	warmup, capture []request
	// inputLen is the prompt's length in words, 0 for the probe prompt.
	inputLen, outputLen int
}

// counter numbers the prompts of a run: warm-up and capture, stage after
// stage, no number twice.
type counter struct{ next int }

// request makes one request of words words.
func (c *counter) request(words, tokens int) request {
	i := c.next
	c.next++
	return request{prompt: syntheticPrompt(i, words), maxTokens: tokens, seed: i}
}

// syntheticPrompt is words words, "profile" all of them but the first, which
// is profile_probe_<i>: a prefix cache compares from the front, and a prompt
// it knows would leave no prefill to profile.
func syntheticPrompt(i, words int) string {
	var b strings.Builder
	b.Grow(16 + 8*words)
	b.WriteString("profile_probe_")
	b.WriteString(strconv.Itoa(i))
	for range words - 1 {
		b.WriteString(" profile")
	}
	return b.String()
}

// plan lays out a stage:
//
//	prefill  WarmupSteps requests to warm up, max(ProbeRequests, NumSteps) to
//	         capture: each is one forward pass
//	decode   one request of WarmupSteps tokens, one of the full length: each
//	         token is one pass
//	legacy   one probe request of WarmupSteps tokens, ProbeRequests of them
//
// Requests run one after the other: in flight together they would be batched
// into fewer passes than counted.
func plan(stage Stage, o Options, c *counter) stagePlan {
	p := stagePlan{stage: stage}
	switch stage {
	case StagePrefill:
		p.inputLen, p.outputLen = o.Prefill.InputLen, o.Prefill.OutputLen
		for range o.WarmupSteps {
			p.warmup = append(p.warmup, c.request(p.inputLen, p.outputLen))
		}
		for range max(o.ProbeRequests, o.NumSteps) {
			p.capture = append(p.capture, c.request(p.inputLen, p.outputLen))
		}
	case StageDecode:
		p.inputLen, p.outputLen = o.Decode.InputLen, o.Decode.OutputLen
		if o.WarmupSteps > 0 {
			p.warmup = append(p.warmup, c.request(p.inputLen, o.WarmupSteps))
		}
		p.capture = append(p.capture, c.request(p.inputLen, p.outputLen))
	default:
		p.outputLen = o.ProbeMaxNewTokens
		probe := func(tokens int) request {
			c.next++
			return request{prompt: o.ProbePrompt, maxTokens: tokens, seed: c.next - 1}
		}
		if o.WarmupSteps > 0 {
			p.warmup = append(p.warmup, probe(o.WarmupSteps))
		}
		for range o.ProbeRequests {
			p.capture = append(p.capture, probe(o.ProbeMaxNewTokens))
		}
	}
	return p
}
