package layer_test

import (
	"math/rand"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gen/families"
	"github.com/llmstrata/strata/layer"
)

// TestScored prints how right the answers about models are that are only scored, by damage: go test ./layer -run
// Scored -v -battery. They may not become worse.
func TestScored(t *testing.T) {
	if !*wholeBattery {
		t.Skip("takes a minute: -battery")
	}
	const least, mostWrong = 0.87, 1
	var by table
	var sure calibration
	right, wrong := 0.0, 0
	for _, c := range families.Harmed(families.Scored()) {
		an, err := layer.Analyze(t.Context(), runTrace(c), layer.Options{})
		if err != nil {
			t.Fatalf("%s: %s: %v", c.Group, c.Name, err)
		}
		j := judge(&an.Devices[0], c)
		by.add(c.Group, j)
		sure.add(&an.Devices[0], j.right, j.conf)
		if right += j.right; j.right < .9 && j.conf >= .9 {
			wrong++
		}
	}
	t.Logf("\n%s", by.rows())
	t.Logf("expected calibration error %.3f; %d of %d printed with 0.95 are below 90%% right", sure.off(), sure.wrong, sure.sure)
	if right < least*float64(sure.cases) || wrong > mostWrong {
		t.Errorf("%.3f right, %d printed with 0.9 and wrong; want %.2f and at most %d", right/float64(sure.cases), wrong, least,
			mostWrong)
	}
}

// TestBoundaryBetweenPassesThatDiffer: where the records around a boundary are lost, two passes of the same kernels,
// which are nowhere equal, are two.
func TestBoundaryBetweenPassesThatDiffer(t *testing.T) {
	seen := 0
	for _, c := range families.Harmed(families.Open()) {
		if c.Group != families.BoundaryLost || !slices.ContainsFunc([]string{"DeBERTa", "Granite", "OLMo"},
			func(name string) bool { return strings.HasPrefix(c.Name, name) }) {
			continue
		}
		seen++
		an, err := layer.Analyze(t.Context(), runTrace(c), layer.Options{})
		if err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		if j := judge(&an.Devices[0], c); j.right < .96 {
			t.Errorf("%s: %.3f right, printed %.2f:%s", c.Name, j.right, j.conf, j.what)
		}
	}
	if seen != 3 {
		t.Errorf("%d cases", seen)
	}
}

// TestStallsAreNoLoss: a pause of the host in the only pass of a trace is no loss of records, even where it lies between
// kernels that follow each other nowhere else: calls are numbered, and none is missing.
func TestStallsAreNoLoss(t *testing.T) {
	odd := func(kernels []families.Kernel) (places []int) {
		alike := map[string][]int{}
		for i := 6; i+6 <= len(kernels); i++ {
			around := ""
			for _, x := range kernels[i-6 : i+6] {
				around += x.Name + "|"
			}
			alike[around] = append(alike[around], i)
		}
		for _, at := range alike {
			if len(at) == 1 {
				places = append(places, at[0])
			}
		}
		slices.Sort(places)
		return places
	}
	scripts, tried, each := families.Open(), 0, 3
	if !*wholeBattery {
		scripts = scripts[:6]
	}
	for _, c := range families.Harmed(scripts) {
		places := odd(c.Kernels)
		if c.Group != "one pass" || len(places) == 0 {
			continue
		}
		r := rand.New(rand.NewSource(int64(len(c.Name))))
		wall := c.Kernels[len(c.Kernels)-1].Start - c.Kernels[0].Start
		for range each {
			at, stall := places[r.Intn(len(places))], int64(r.Float64()*float64(wall)/5)
			stalled := c
			stalled.Kernels = slices.Clone(c.Kernels)
			for i := at; i < len(stalled.Kernels); i++ {
				stalled.Kernels[i].Start += stall
			}
			an, err := layer.Analyze(t.Context(), runTrace(stalled), layer.Options{})
			if err != nil {
				t.Fatalf("%s: %v", c.Name, err)
			}
			if tried++; len(an.Devices[0].Damage) > 0 {
				t.Errorf("%s, a pause before kernel %d of %d: %v", c.Name, at, len(c.Kernels), an.Devices[0].Damage)
			}
		}
	}
	if tried < 10 {
		t.Errorf("%d pauses tried, want 10 or more", tried)
	}
}
