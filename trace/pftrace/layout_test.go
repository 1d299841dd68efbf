package pftrace_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/llmstrata/strata/internal/gen/pftracegen"
	"github.com/llmstrata/strata/internal/wire"
)

// What is read of a slice does not depend on whether one like it came before: the same events, each with a field in
// front that no reader knows and that keeps it from being remembered, are the same trace.
func TestKnownSlicesAreTheSame(t *testing.T) {
	num, str, msg := wire.Num, wire.Str, wire.Msg
	arg := func(name string, value []byte) []byte { return append(str(nil, 10, name), value...) }
	dims := bytes.Repeat(msg(nil, 12, num(nil, 4, 7)), 50) // long: its size takes two bytes
	args := [][]byte{
		arg("Python id", num(nil, 4, 1)), arg("Python id", num(nil, 4, 1<<40)), arg("Ev Idx", str(nil, 6, "x")),
		arg("Ev Idy", num(nil, 4, 3)),
		arg("correlation", num(nil, 4, 0)), arg("correlation", num(nil, 4, 1<<50)), arg("correlation", num(nil, 3, 7)),
		arg("correlation", str(nil, 6, "9")),
		arg("correlation", num(num(nil, 4, 5), 4, 6)), arg("External id", num(nil, 4, 77)),
		arg("External id", num(nil, 4, 300)), arg("cbid", nil), arg("cbid", num(nil, 4, 3)),
		arg("cbix", num(nil, 4, 3)), arg("Sequence number", num(nil, 4, 3)),
		arg("Sequence numbes", num(nil, 4, 3)),
		arg("stream", num(nil, 4, 7)), arg("stream", num(nil, 4, 8)), arg("stream", num(num(nil, 4, 8), 4, 9)),
		arg("device", num(nil, 4, 1)), arg("Input Dims", dims), arg("Input Dims", dims[:8]), num(arg("", nil), 4, 2),
		num(nil, 4, 5),
		msg(nil, 4, nil), append(num(nil, 4, 3), str(nil, 10, "correlation")...), {10<<3 | 2, 30, 'c'}, {0xff},
	}
	random := rand.New(rand.NewPCG(1, 2))
	var lists [][]byte
	for _, a := range args {
		lists = append(lists, msg(nil, 4, a))
	}
	for _, stream := range []uint64{3, 4, 300} {
		for device := range uint64(2) {
			m := msg(msg(nil, 4, arg("device", num(nil, 4, device))), 4, arg("stream", num(nil, 4, stream)))
			longer := msg(msg(nil, 4, arg("device", num(nil, 4, device))), 4,
				arg("stream", num(num(nil, 4, stream), 4, 9)))
			lists = append(lists, m, longer, msg(bytes.Clone(m), 4, arg("correlation", num(nil, 4, stream+device))))
		}
	}
	for range 12 {
		var m []byte
		for range random.IntN(4) {
			m = msg(m, 4, args[random.IntN(len(args))])
		}
		if lists = append(lists, m); random.IntN(5) == 0 {
			lists = append(lists, num(m, 30, 3), num(m, 9, 2), m[:max(len(m)-1, 0)])
		}
	}
	for run := range lists { // a few of them each, so that they come again and again
		lists := lists[run:min(run+4, len(lists))]
		var plain, marked []byte
		for i, names := 0, uint64(3); i < 200; i++ {
			m := lists[random.IntN(len(lists))]
			if random.IntN(16) == 0 {
				m = msg(bytes.Clone(m), 4, args[random.IntN(len(args))])
			}
			m = append(num(num(num(nil, 9, 1), 11, 200+random.Uint64N(2)<<40), 10, 1+random.Uint64N(names)), m...)
			end := num(num(nil, 9, 2), 11, 200)
			for _, m := range [][]byte{m, end} {
				ts := uint64(1000 + 10*i)
				plain = append(plain, pftracegen.Packet(ts, msg(nil, 11, m))...)
				marked = append(marked, pftracegen.Packet(ts,
					msg(nil, 11, append(protowire.AppendVarint(protowire.AppendTag(nil, 777, protowire.VarintType), 1),
						m...)))...)
			}
			if random.IntN(20) == 0 {
				in := str(num(nil, 1, 1+random.Uint64N(names)), 2, fmt.Sprint("name ", i))
				learn := msg(nil, 1, append(num(nil, 10, 1), msg(nil, 12, msg(nil, 2, in))...))
				plain, marked = append(plain, learn...), append(marked, learn...)
			}
		}
		said := func(data []byte) (out []string) {
			tr := read(t, data)
			for e := range events(tr) {
				out = append(out, fmt.Sprintf("%v %s %d+%d corr %d ext %d thread %d on %+v", e.Kind(), e.Name(),
					e.Start(), e.Duration(), e.Data().Correlation, e.Data().ExternalID, e.Thread(), e.Data()))
			}
			return append(out, fmt.Sprintf("%+v", tr.Health()))
		}
		if diff := cmp.Diff(said(marked), said(plain)); diff != "" {
			t.Fatalf("run %d: (-each parsed +known)\n%s", run, diff)
		}
	}
}
