package capture

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"
)

// stagePlan are the requests of one stage.
type stagePlan struct {
	stage           Stage
	warmup, capture []request
	// steps is the number of passes asked for.
	steps int
	// inputLen is the prompt's length in words, 0 for the probe prompt.
	inputLen int
}

// passes are what the requests make of the steps: in a decode, the prompt is one more.
func (p *stagePlan) passes() int {
	if p.stage == StageDecode {
		return p.steps + 1
	}
	return p.steps
}

// freshIndex is a number for the first prompt of a run that no other run has
// in all likelihood, and whose digits differ from the first one on.
func freshIndex() int { return 100_000 + rand.IntN(999_000_000) }

// syntheticPrompt is words words, "profile" all of them but the first, which is profile_probe_<i>: a prefix cache
// compares from the front, and a prompt it knows would leave no prefill to profile. A long number is several tokens;
// for each digit past the second a word less follows, so that the prompt does not outgrow a chunk that its length was
// chosen for.
func syntheticPrompt(i, words int) string {
	digits := strconv.Itoa(i)
	return "profile_probe_" + digits + strings.Repeat(" profile", max(words-1-max(len(digits)-2, 0), 0))
}

// plan lays out a stage of steps passes:
//
//	prefill  WarmupSteps requests to warm up, max(ProbeRequests, steps) to
//	         capture for each of Concurrency: each round is one forward pass
//	decode   Concurrency requests of WarmupSteps tokens, and as many of the
//	         full length: each token is one pass
//	legacy   one probe request of WarmupSteps tokens, ProbeRequests of them
//
// Where the server does not close the window by itself (selfStop false), a request generates as many tokens as the
// window needs and no more: one by the pass over the prompt, one by each step. No number of a prompt occurs twice in a
// run.
func (r *run) plan(stage Stage, steps int, ignoreEOS, selfStop bool) stagePlan {
	o, p := &r.o, stagePlan{stage: stage, steps: steps}
	if o.Attach > 0 {
		return p
	}
	warm, warmTokens := o.WarmupSteps, o.WarmupSteps // requests, and tokens of each
	count, tokens := o.ProbeRequests*o.Concurrency, o.ProbeMaxNewTokens
	switch stage {
	case StagePrefill:
		p.inputLen, tokens, warmTokens = o.Prefill.InputLen, o.Prefill.OutputLen, o.Prefill.OutputLen
		count = max(o.ProbeRequests, steps) * o.Concurrency
	case StageDecode:
		p.inputLen, tokens = o.Decode.InputLen, steps+1
		if selfStop {
			tokens = max(o.Decode.OutputLen, tokens)
		}
		count, warm = o.Concurrency, min(warm, 1)*o.Concurrency
	default:
		if !selfStop {
			tokens = min(tokens, steps+1)
		}
		warm = min(warm, 1)
	}
	next := func(tokens int) request {
		q := request{prompt: o.ProbePrompt, maxTokens: tokens, seed: r.next}
		if p.inputLen > 0 {
			q.prompt = syntheticPrompt(r.next, p.inputLen)
		}
		r.next++
		return q
	}
	for range warm {
		p.warmup = append(p.warmup, next(warmTokens))
	}
	for range count {
		q := next(tokens)
		q.ignoreEOS = ignoreEOS || o.IgnoreEOS
		p.capture = append(p.capture, q)
	}
	return p
}

// slowFactor is how many times as long as in the warm-up, token for token, a request may take while the profiler is on.
// Profilers with stacks slow a pass down by two to four times; ten is a server that hangs.
const slowFactor = 10

// requestLimit bounds a profiled request by what the warm-up took, so that a hung one does not leave the profiler on
// for [Timeouts].Request.
func (s *stageRun) requestLimit() time.Duration {
	w := s.out.Warmup
	if w.Latency.Count == 0 || len(s.plan.capture) == 0 {
		return s.o.Timeouts.Request
	}
	tokens := max(1, float64(s.plan.capture[0].maxTokens)/float64(max(w.MaxTokens, 1)))
	limit := time.Duration(slowFactor * w.Latency.MaxMs * tokens * float64(time.Millisecond))
	return min(max(limit, s.o.Timeouts.Slow), s.o.Timeouts.Request)
}

// send sends the requests of a phase, Concurrency of them at a time. The first
// error ends it: requests under way are given up.
func (s *stageRun) send(ctx context.Context, phase string, reqs []request, limit time.Duration) (Load, error) {
	l := Load{Requests: len(reqs), InputWords: s.plan.inputLen, Concurrency: s.o.Concurrency, Tokens: -1,
		PromptTokens: -1, CachedTokens: -1}
	if len(reqs) == 0 {
		return l, nil
	}
	l.MaxTokens = reqs[0].maxTokens
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
		s.say(phase, begin, fmt.Sprintf("request %d of %d, up to %d tokens", i+1, len(reqs), q.maxTokens))
		wg.Go(func() {
			defer func() { <-room }()
			t := time.Now()
			a, err := s.d.generate(rctx, i, q, limit)
			if err != nil {
				if timedOut(err) && limit < s.o.Timeouts.Request {
					err = fmt.Errorf("%w, %d times as long as the warm-up took: it hangs", err, slowFactor)
				}
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
func (l *Load) add(a reply) {
	if a.tokens >= 0 && (l.Tokens < 0 || a.tokens < l.Tokens) {
		l.Tokens = a.tokens
	}
	sum := func(to *int, n int) {
		if n >= 0 {
			*to = max(*to, 0) + n
		}
	}
	sum(&l.PromptTokens, a.prompt)
	sum(&l.CachedTokens, a.cached)
}
