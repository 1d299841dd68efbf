package trace_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

// TestExchangeOfCollectives: what NCCL kernels say of themselves, and nothing of the event before.
func TestExchangeOfCollectives(t *testing.T) {
	kernel := func(at int, args string) string {
		return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":%d,"dur":1,"args":{"device":0,"stream":7%s}}`, at, args)
	}
	tr, err := trace.Read(t.Context(), strings.NewReader(`{"traceEvents":[`+strings.Join([]string{
		kernel(1, `,"Collective name":"allreduce","In msg nelems":4096,"dtype":"BFloat16","Process Group Name":"3","Process Group Ranks":"[0, 1, 12]"`),
		kernel(2, ``),
		kernel(3, `,"Process Group Name":"default_pg"`),
		kernel(4, `,"In msg nelems":"8","dtype":"Unheard","Process Group Ranks":"[0, 1, ..., 63]"`),
		kernel(5, `,"In msg nelems":9223372036854775807,"dtype":"Float","Process Group Ranks":[4,5]`),
	}, ",")+`]}`), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Exchange{{Group: "3", Ranks: []int{0, 1, 12}, Bytes: 8192}, {}, {Group: "default_pg"}, {},
		{Ranks: []int{4, 5}}}
	i := 0
	for e := range tr.Events(event.LaneGPU) {
		got, ok := e.Exchange()
		if !reflect.DeepEqual(got, want[i]) || ok != !reflect.DeepEqual(want[i], trace.Exchange{}) {
			t.Errorf("kernel %d: %+v, %t, want %+v", i, got, ok, want[i])
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d kernels, want %d", i, len(want))
	}
}
