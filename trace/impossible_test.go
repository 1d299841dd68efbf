package trace_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// train returns one kernel of the given length and n that begin after it on its
// stream, 10 µs apart, each of the launch that args says.
func train(long float64, n int, args func(i int) string) string {
	events := []string{kernelAt("long", 10, long, args(0))}
	for i := range n {
		events = append(events, kernelAt("k", 15+10*float64(i), 5, args(i+1)))
	}
	return document(events...)
}

// TestImpossibleKernelIsCapped: work on a stream is done in order, whatever the
// length that a damaged row gives.
func TestImpossibleKernelIsCapped(t *testing.T) {
	own := func(i int) string { return fmt.Sprintf(`,"correlation":%d`, i+1) }
	for name, c := range map[string]struct {
		in   string
		want time.Duration
		caps string
	}{
		"9 s among 713":                   {train(9e6, 713, own), 5 * time.Microsecond, "capped-duration=1"},
		"1 overlap more than is allowed":  {train(3000, 101, own), 5 * time.Microsecond, "capped-duration=1"},
		"as many overlaps as are allowed": {train(3000, 100, own), 3 * time.Millisecond, ""},
		"by no more than the slack":       {train(1000, 300, own), time.Millisecond, ""},
		"branches of one graph replay": {train(9e6, 713, func(int) string { return `,"correlation":9,"graph id":3` }),
			9 * time.Second, ""},
		"over later graph replays": {train(9e6, 713,
			func(i int) string { return fmt.Sprintf(`,"correlation":%d,"graph id":3`, 1+i/5) }),
			5 * time.Microsecond, "capped-duration=1"},
		"without a stream": {strings.NewReplacer(`"stream":7,`, "", `"tid":7`,
			`"tid":"gpu"`).Replace(train(9e6, 713, own)), 9 * time.Second, ""},
	} {
		tr := read(t, strings.NewReader(c.in))
		long := tr.LaneAt(event.LaneGPU, 0)
		if got, caps := long.Duration(), findingsOf(tr, "cap"); got != c.want || caps != c.caps {
			t.Errorf("%s: %v, findings %q; want %v, %q", name, got, caps, c.want, c.caps)
		}
		for _, f := range tr.Health().Findings {
			if f.Code == trace.CodeAbsurdDuration && !strings.Contains(f.Message, "longer than 10 s") {
				t.Errorf("%s: %q does not say how long", name, f.Message)
			}
			if f.Code == trace.CodeCappedDuration && !strings.Contains(f.Message, `"long"`) {
				t.Errorf("%s: %q does not name the kernel", name, f.Message)
			}
		}
	}
}

// TestEventFarFromAllOthersMakesNoWindow: it is lost, by name.
func TestEventFarFromAllOthersMakesNoWindow(t *testing.T) {
	const now, hour = 7_721_328_000_000.0, 3_600_000_000.0 // µs
	work := func(n int, at float64) (all []string) {
		for i := range n {
			all = append(all, opAt("op", at+float64(i), 1, ""), kernelAt("k", at+float64(i), 1, ""))
		}
		return all
	}
	for name, c := range map[string]struct {
		events []string
		window time.Duration
		far    string
	}{
		"time 0": {append(work(50, now), kernelAt("zero", 0, 5, "")), 50 * time.Microsecond,
			"loss-bad-time=1"},
		"time 0 of 20 events": {append(work(10, now)[:19], kernelAt("zero", 0, 5, "")), 10 * time.Microsecond,
			"loss-bad-time=1"},
		"time 0 of 19 events": {append(work(9, now), kernelAt("zero", 0, 5, "")),
			time.Duration(now+9) * time.Microsecond, ""},
		"an op, later": {append(work(50, now), opAt("zero", now+2*hour, 1, "")), 50 * time.Microsecond,
			"loss-bad-time=1"},
		"2 of 202": {append(work(100, now), work(1, 0)...), 100 * time.Microsecond, "loss-bad-time=2"},
		"2 of 102, too many": {append(work(50, now), work(1, now-2*hour)...), 2*time.Hour + 50*time.Microsecond,
			""},
		"within an hour": {append(work(50, now), kernelAt("zero", now-hour, 5, "")),
			time.Hour + 50*time.Microsecond, ""},
		"not far for a long run": {append(append(work(1, now), work(100, now+1e7)...), opAt("zero", now+2*hour, 1, "")),
			2*time.Hour + time.Microsecond, ""},
		"far for a shorter run": {append(append(work(1, now), work(100, now+7e6)...),
			opAt("zero", now+2*hour+7e6, 1, "")), 7*time.Second + 100*time.Microsecond, "loss-bad-time=1"},
		"nothing to be far from": {[]string{kernelAt("zero", 0, 5, ""), kernelAt("k", now, 1, "")},
			time.Duration(now+1) * time.Microsecond, ""},
	} {
		tr := read(t, strings.NewReader(document(c.events...)))
		start, end := tr.Window()
		if got, far := time.Duration(end-start), findingsOf(tr, "loss-"); got != c.window || far != c.far {
			t.Errorf("%s: window of %v, findings %q; want %v, %q", name, got, far, c.window, c.far)
		}
		if c.far != "" && (!strings.Contains(fmt.Sprint(tr.Health().Losses), `"zero"`) && name != "2 of 202" ||
			start != 0) {
			t.Errorf("%s: window from %d, losses %v; want it from 0 and the event named", name, start,
				tr.Health().Losses)
		}
	}
}

// TestRealTracesHaveNothingImpossible: no real trace is repaired by the rules
// for damaged rows.
func TestRealTracesHaveNothingImpossible(t *testing.T) {
	paths := testdata.SharedGlob(t, "traces/torch/*json*")
	for _, path := range paths {
		tr, err := trace.Open(t.Context(), path, trace.Options{Lanes: []event.Lane{event.LaneGPU, event.LaneLaunch}})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if got := findingsOf(tr, "capped") + findingsOf(tr, "loss-bad-time") + findingsOf(tr, "several"); got != "" {
			t.Errorf("%s: %s", filepath.Base(path), got)
		}
	}
}

// TestActivitiesAreCountedOnce: a buffer that the profiler wrote twice adds no GPU time, wherever the second copy is.
// What differs in anything that separates activities is another one, and so is what starts and ends together where
// every duration is whole microseconds; where others are not, one that happens to be is counted once as they are.
func TestActivitiesAreCountedOnce(t *testing.T) {
	corr := func(n int) string { return fmt.Sprintf(`,"correlation":%d`, n) }
	node := func(n int) string { return fmt.Sprintf(`,"correlation":9,"graph id":3,"graph node id":%d`, n) }
	a, b := kernelAt("a", 10, 4.125, corr(1)), kernelAt("b", 20, 4.125, corr(2))
	for name, c := range map[string]struct {
		in    string
		rows  int
		twice string
	}{
		"once":                {document(a, b), 2, ""},
		"one after the other": {document(a, a, b), 2, "loss-twice=1"},
		"a buffer again":      {document(a, b, a, b), 2, "loss-twice=2"},
		"three times":         {document(b, a, b, b), 2, "loss-twice=2"},
		"another name":        {document(a, kernelAt("c", 10, 4.125, corr(1))), 2, ""},
		"another launch":      {document(a, kernelAt("a", 10, 4.125, corr(3))), 2, ""},
		"another end":         {document(a, kernelAt("a", 10, 4.126, corr(1))), 2, ""},
		"another node":        {document(kernelAt("a", 10, 4.125, node(1)), kernelAt("a", 10, 4.125, node(2))), 2, ""},
		"another stream":      {document(a, strings.Replace(a, `"stream":7`, `"stream":8`, 1)), 2, ""},
		"another GPU":         {document(a, strings.Replace(a, `"device":0`, `"device":1`, 1)), 2, ""},
		"whole microseconds":  {document(kernelAt("a", 10, 4, corr(1)), kernelAt("a", 10, 4, corr(1))), 2, ""},
		"one whole duration":  {document(b, kernelAt("a", 10, 4, corr(1)), kernelAt("a", 10, 4, corr(1))), 2, "loss-twice=1"},
		"beside another row":  {document(a, kernelAt("c", 10, 5.125, corr(1)), a), 2, "loss-twice=1"},
		"without a stream row": {strings.NewReplacer(`"stream":7,`, "", `"tid":7`, `"tid":"gpu"`).Replace(document(a, a)), 2,
			""},
	} {
		tr := read(t, strings.NewReader(c.in))
		if got, twice := tr.Len(event.LaneGPU), findingsOf(tr, "loss-twice"); got != c.rows || twice != c.twice {
			t.Errorf("%s: %d activities, findings %q; want %d, %q", name, got, twice, c.rows, c.twice)
		}
	}
}

func TestJoinedFilesAreDegraded(t *testing.T) {
	one := document(kernelAt("k", 10, 1, ""), launchAt("l", 5, 1, ""))
	for in, want := range map[string]string{one: "", one + "\n": "", one + "\n" + one: "several-documents=2"} {
		tr := read(t, strings.NewReader(in))
		further := int64(0)
		for _, l := range tr.Health().Losses {
			further += l.Count
		}
		if further != 0 && want == "" || further != 1 && want != "" {
			t.Errorf("%d bytes: losses %+v, want one further document, or none", len(in), tr.Health().Losses)
		}
		if got := findingsOf(tr, "several"); got != want || want != "" && tr.Health().Status != trace.HealthDegraded {
			t.Errorf("%d bytes: findings %q, status %v; want %q", len(in), got, tr.Health().Status, want)
		}
	}
}
