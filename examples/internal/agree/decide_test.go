package agree

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
)

// TestOracleEqualsWhatIsKnown: the oracle counts what truth.json says, which
// another reader counted.
func TestOracleEqualsWhatIsKnown(t *testing.T) {
	for _, k := range testdata.DistilledTraces(t) {
		got, err := oracle(testdata.Distilled(t, k.Name))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range k.Devices {
			w := got[want.Device]
			if w == nil || w.kernels != want.Kernels || w.kernelNS != want.KernelNS || want.Other >= 0 &&
				w.others != want.Other {
				t.Errorf("%s: device %d: %+v, want %+v", k.Name, want.Device, w, want)
			}
		}
		if len(got) != len(k.Devices) {
			t.Errorf("%s: %d devices, want %d", k.Name, len(got), len(k.Devices))
		}
	}
}

func TestNanosecondsKeepDigits(t *testing.T) {
	for text, want := range map[string]int64{
		"1682725898082228": 1682725898082228000, "4909913692199.694": 4909913692199694, "0.0005": 1, "1.2e3": 1200000,
		"7.1": 7100,
	} {
		if got := nanoseconds(json.Number(text)); got != want {
			t.Errorf("nanoseconds(%s) = %d, want %d", text, got, want)
		}
	}
}

func TestUnionCountsOverlapOnce(t *testing.T) {
	devices, spans := map[int]*work{}, map[int][]span{}
	for _, s := range []span{{10, 20}, {0, 12}, {30, 31}, {13, 15}} {
		add(devices, spans, 0, true, s)
	}
	add(devices, spans, 0, false, span{40, 50})
	add(devices, spans, 1, false, span{0, 5})
	got := finish(devices, spans)
	if w := got[0]; len(got) != 1 || w.busyNS != 31 || w.kernelNS != 25 || w.activityNS != 35 || w.others != 1 {
		t.Errorf("work = %+v of %d devices, want busy 31, kernels 25, all 35 of one device with kernels", got[0],
			len(got))
	}
}

func TestDisagreementsNameBothSides(t *testing.T) {
	l := &ledger{}
	s := l.about(kindPasses, "")
	s.count(byTruth, 10)
	s.count("triage", 10)
	s.count("host-detect", 0)
	m := l.about(kindTime, "device 0")
	m.measure(byOracle, 1000, 5)
	m.measure("triage", 1004, 0)
	m.measure("host-detect", 1006, 0)
	l.about(kindTP, "") // nobody says anything
	list := l.disagreements()
	if len(list) != 2 || list[0].kind != kindPasses ||
		!strings.Contains(list[0].text, "truth says 10, host-detect 0") || list[1].kind != kindTime {
		t.Errorf("disagreements = %+v, want host-detect's passes and its time", list)
	}
}

func TestStageWordsShareATable(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  string
	}{
		{[]string{"extend", "decode"}, "decode+prefill"}, {[]string{"context", "generation"}, "decode+prefill"},
		{nil, "unknown"}, {[]string{"all"}, "unknown"}, {[]string{"new"}, "?new"},
	} {
		if got := stageSet(c.words); got != c.want {
			t.Errorf("stageSet(%q) = %s, want %s", c.words, got, c.want)
		}
	}
}

func TestRowsAreReadByColumnName(t *testing.T) {
	rows, err := parseRows([]byte("kind,ts_ns,dur_ns,device,pass,layer,stage,category,extra\nkernel,5,7,1,2,-1,decode,norm,x\n"))
	if err != nil || len(rows) != 1 || rows[0] != (row{5, 7, 1, 2, -1, "kernel", "decode", "norm"}) {
		t.Errorf("rows = %+v, %v", rows, err)
	}
}
