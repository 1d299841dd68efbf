package pftrace_test

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/internal/gen/pftracegen"
	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/internal/wire"
	"github.com/llmstrata/strata/trace"
)

// The same bytes are the same slice as long as nothing is said anew of its texts and its track.
func TestSlicesThatComeAgain(t *testing.T) {
	num, str, msg := wire.Num, wire.Str, wire.Msg
	ts := uint64(1000)
	packet := func(m []byte) []byte {
		ts += 1000
		return pftracegen.Packet(ts, m)
	}
	named := func(flags uint64, name string) []byte {
		in := msg(msg(nil, 2, str(num(nil, 1, 1), 2, name)), 1, str(num(nil, 1, 1), 2, "cpu_op"))
		return packet(num(msg(nil, 12, in), 13, flags))
	}
	thread := func(tid uint64) []byte {
		return packet(msg(nil, 60, msg(num(nil, 1, 200), 4, num(num(nil, 1, 5), 2, tid))))
	}
	slice := func() []byte {
		begin := packet(msg(nil, 11, num(num(num(num(nil, 9, 1), 11, 200), 10, 1), 3, 1)))
		return append(begin, packet(msg(nil, 11, num(num(nil, 9, 2), 11, 200)))...)
	}
	data := bytes.Join([][]byte{thread(6), named(1, "a"), slice(), slice(), named(2, "b"), slice(), slice(), thread(7),
		slice(), slice(), thread(6), slice(),
		named(1, "c"), slice(), slice()}, nil)
	var got []string
	for e := range events(read(t, data)) {
		got = append(got, fmt.Sprintf("%s %d+%d", e.Name(), int64(e.Start())/1000, int64(e.Duration())/1000))
	}
	var threads []string
	for _, th := range read(t, data).Threads() {
		threads = append(threads, fmt.Sprint(th.ID))
	}
	if diff := cmp.Diff([]string{"a 0+1", "a 2+1", "b 5+1", "b 7+1", "b 15+1", "c 18+1", "c 20+1", "b 10+1", "b 12+1"},
		got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if diff := cmp.Diff([]string{"6", "7"}, threads); diff != "" {
		t.Errorf("threads (-want +got)\n%s", diff)
	}
}

// A trace, damage counted, does not depend on how many processors there are, nor on which goroutine is ahead.
func TestSameOnAnyProcessors(t *testing.T) {
	runs := 7
	if !testdata.Long() {
		runs = 2
	}
	for _, form := range forms {
		packets := encode(t, document(t), form)
		for i := 5; i < len(packets); i += 41 {
			packets[i] = bytes.Clone(packets[i])
			packets[i][len(packets[i])/2] ^= 0x55
		}
		data := bytes.Join(packets, nil)
		said := func(tr *trace.Trace) string { return fmt.Sprintf("%q %+v", lines(tr, false), tr.Health()) }
		want := said(read(t, data))
		for _, procs := range []int{1, 2, 8} {
			before := runtime.GOMAXPROCS(procs)
			for range runs {
				if got := said(read(t, data)); got != want {
					t.Errorf("%s: another trace on %d processors", form, procs)
				}
			}
			runtime.GOMAXPROCS(before)
		}
	}
}
