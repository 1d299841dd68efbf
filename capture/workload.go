package capture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/llmstrata/strata/capture/internal/server"
)

// stagePlan are the requests of one stage.
type stagePlan struct {
	stage           string
	warmup, capture []server.Request
	// steps is the number of passes asked for.
	steps int
	// inputLen is the prompt's length in words, 0 for the probe prompt.
	inputLen, outputLen int
	ignoreEOS           bool
}

// counter numbers the prompts of a run: warm-up and capture, stage after
// stage, no number twice.
type counter struct{ next int }

// freshIndex is a number for the first prompt of a run that no other run has
// in all likelihood, and whose digits differ from the first one on.
func freshIndex() int { return 100_000 + rand.IntN(999_000_000) }

// request makes one request of words words.
func (c *counter) request(words, tokens int) server.Request {
	i := c.next
	c.next++
	return server.Request{Prompt: syntheticPrompt(i, words), MaxTokens: tokens, Seed: i}
}

// syntheticPrompt is words words, "profile" all of them but the first, which
// is profile_probe_<i>: a prefix cache compares from the front, and a prompt
// it knows would leave no prefill to profile. A long number is several tokens;
// for each digit past the second a word less follows, so that the prompt does
// not outgrow a chunk that its length was chosen for.
func syntheticPrompt(i, words int) string {
	var b strings.Builder
	b.Grow(32 + 8*words)
	b.WriteString("profile_probe_")
	digits := strconv.Itoa(i)
	b.WriteString(digits)
	for range words - 1 - max(len(digits)-2, 0) {
		b.WriteString(" profile")
	}
	return b.String()
}

// plan lays out a stage of steps passes:
//
//	prefill  WarmupSteps requests to warm up, max(ProbeRequests, steps) to
//	         capture for each of Concurrency: each round is one forward pass
//	decode   Concurrency requests of WarmupSteps tokens, and as many of the
//	         full length: each token is one pass
//	legacy   one probe request of WarmupSteps tokens, ProbeRequests of them
//
// Where the server does not close the window by itself (selfStop false), a
// request generates as many tokens as the window needs and no more: one by the
// pass over the prompt, one by each step.
func plan(stage string, o Options, steps int, ignoreEOS, selfStop bool, c *counter) stagePlan {
	p := stagePlan{stage: stage, steps: steps, ignoreEOS: ignoreEOS || o.IgnoreEOS}
	switch {
	case o.Attach > 0:
		return p
	case stage == stagePrefill:
		p.inputLen, p.outputLen = o.Prefill.InputLen, o.Prefill.OutputLen
		for range o.WarmupSteps {
			p.warmup = append(p.warmup, c.request(p.inputLen, p.outputLen))
		}
		for range max(o.ProbeRequests, steps) * o.Concurrency {
			p.capture = append(p.capture, c.request(p.inputLen, p.outputLen))
		}
	case stage == stageDecode:
		p.inputLen, p.outputLen = o.Decode.InputLen, steps+1
		if selfStop {
			p.outputLen = max(o.Decode.OutputLen, steps+1)
		}
		for range o.Concurrency {
			if o.WarmupSteps > 0 {
				p.warmup = append(p.warmup, c.request(p.inputLen, o.WarmupSteps))
			}
		}
		for range o.Concurrency {
			p.capture = append(p.capture, c.request(p.inputLen, p.outputLen))
		}
	default:
		p.outputLen = o.ProbeMaxNewTokens
		if !selfStop {
			p.outputLen = min(p.outputLen, steps+1)
		}
		probe := func(tokens int) server.Request {
			c.next++
			return server.Request{Prompt: o.ProbePrompt, MaxTokens: tokens, Seed: c.next - 1}
		}
		if o.WarmupSteps > 0 {
			p.warmup = append(p.warmup, probe(o.WarmupSteps))
		}
		for range o.ProbeRequests * o.Concurrency {
			p.capture = append(p.capture, probe(p.outputLen))
		}
	}
	for i := range p.capture {
		p.capture[i].IgnoreEOS = p.ignoreEOS
	}
	return p
}

// send sends the requests of a phase, Concurrency of them at a time. The first
// error ends it: requests under way are given up.
func (s *stageRun) send(ctx context.Context, phase string, reqs []server.Request) (Load, error) {
	l := Load{Requests: len(reqs), InputWords: s.plan.inputLen, Concurrency: s.o.Concurrency, Tokens: -1, PromptTokens: -1, CachedTokens: -1}
	if len(reqs) == 0 {
		return l, nil
	}
	l.MaxTokens = reqs[0].MaxTokens
	begin := time.Now()
	rctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var (
		wg    sync.WaitGroup
		mu    sync.Mutex
		times []time.Duration
		room  = make(chan struct{}, s.o.Concurrency)
	)
	for i, q := range reqs {
		select {
		case room <- struct{}{}:
		case <-rctx.Done():
		}
		if rctx.Err() != nil {
			break
		}
		s.say(phase, begin, fmt.Sprintf("request %d of %d, up to %d tokens", i+1, len(reqs), q.MaxTokens))
		wg.Go(func() {
			defer func() {
				<-room
				if p := recover(); p != nil { // a caller's transport; the profiler is on
					cancel(fmt.Errorf("%s request %d of %d: panic: %v", s.plan.stage, i+1, len(reqs), p))
				}
			}()
			t := time.Now()
			a, err := s.d.Generate(rctx, q)
			if err != nil {
				cancel(fmt.Errorf("%s request %d of %d: %w", s.plan.stage, i+1, len(reqs), err))
				return
			}
			mu.Lock()
			defer mu.Unlock()
			times = append(times, time.Since(t))
			l.add(a)
		})
	}
	wg.Wait()
	l.Latency, l.ElapsedS = summarise(times), seconds(time.Since(begin))
	if ctx.Err() != nil {
		return l, context.Cause(ctx)
	}
	return l, context.Cause(rctx)
}

// add counts one answer.
func (l *Load) add(a server.Reply) {
	if a.Tokens >= 0 && (l.Tokens < 0 || a.Tokens < l.Tokens) {
		l.Tokens = a.Tokens
	}
	sum := func(to *int, n int) {
		if n >= 0 {
			*to = max(*to, 0) + n
		}
	}
	sum(&l.PromptTokens, a.Prompt)
	sum(&l.CachedTokens, a.Cached)
}
