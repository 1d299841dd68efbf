package main

import (
	"math"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFit(t *testing.T) {
	for _, c := range []struct {
		x, y              []float64
		slope, offset, r2 float64
	}{
		{[]float64{1, 2, 3}, []float64{3, 5, 7}, 2, 1, 1},
		{[]float64{1, 2, 3}, []float64{4, 4, 4}, 0, 4, 1},
		{[]float64{2, 2}, []float64{1, 3}, 0, 2, 0},
		{[]float64{0, 1, 2, 3}, []float64{0, 1, 0, 1}, 0.2, 0.2, 0.2},
	} {
		slope, offset, r2 := fit(c.x, c.y)
		if math.Abs(slope-c.slope)+math.Abs(offset-c.offset)+math.Abs(r2-c.r2) > 1e-9 {
			t.Errorf("fit(%v, %v) = %v, %v, %v, want %v, %v, %v", c.x, c.y, slope, offset, r2, c.slope, c.offset, c.r2)
		}
	}
}

func TestMedian(t *testing.T) {
	s := func(took time.Duration, peak int64) sample { return sample{events: 1, took: took, peak: peak} }
	if got, want := median([]sample{s(9, 1), s(1, 5), s(3, 2)}), s(3, 2); got != want {
		t.Errorf("median of three = %v, want %v", got, want)
	}
	if got, want := median([]sample{s(4, 2), s(2, 4)}), s(3, 3); got != want {
		t.Errorf("median of two = %v, want %v", got, want)
	}
}

func TestSpread(t *testing.T) {
	list := []sample{{took: 9}, {took: 12}, {took: 10}}
	if got := spread(list, median(list).took); math.Abs(got-.3) > 1e-9 {
		t.Errorf("spread of 9, 10 and 12 = %v, want .3 of the median", got)
	}
}

func TestPage(t *testing.T) {
	p := page{runs: 3, machine: machine{date: "2000-01-02", commit: "abc", cpu: "CPU", system: "os/arch", cores: 2,
		memory: 1 << 30, goVersion: "go1", python: "3"}}
	for _, gb := range []int64{1, 2, 4} {
		p.files = append(p.files, fileResult{
			size: "x", plainBytes: gb * 1e9, packedBytes: gb * 1e8, events: gb * 1e6,
			rows: []row{
				{"strata, everything", "gz", time.Duration(gb) * time.Second, .02, 10e6 + gb*100e6},
				{"triage, whole program", "gz", time.Duration(gb) * 2 * time.Second, .1, 0},
				{"Python json.load", "gz", time.Duration(gb) * 30 * time.Second, 0, 5000 << 20},
			},
		})
	}
	p.files[2].noPython = "too large"
	p.ranks = ranksResult{64, fileResult{size: "20MB",
		rows: []row{{"strata, one rank at a time", "gz", 2 * time.Second, .25, 100 << 20}}}}
	text, err := p.markdown()
	if err != nil {
		t.Fatal(err)
	}
	got := string(text)
	_, section, _ := strings.Cut(got, "## A trace of x\n\n")
	section, _, _ = strings.Cut(section, "\n\nPython was")
	want := `4,000,000 events, 4,000,000,000 bytes, as gzip 400,000,000 bytes. What each GB adds is the slope of a line through traces of x, x, x
(least squares; R² of the time is 1.0000 or more).

| What | File | Time (s) | Spread | MB/s | Of load | Peak memory | Python's time | Python's memory | Each GB adds |
| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |
| strata, everything | gz | 4.000 | 2% | 1000 | 1.00× | 410 MB | 30.0× | 12.8× | 1.000 s, 100 MB |
| triage, whole program | gz | 8.000 | 10% | 500 | 2.00× | - | 15.0× | - | 2.000 s |
| Python json.load | gz | 120.000 | 0% | 33 | 30.00× | 5.24 GB | - | - | 30.000 s, 0 MB |`
	if diff := cmp.Diff(want, section); diff != "" {
		t.Errorf("section (-want +got):\n%s", diff)
	}
	for _, part := range []string{"abc", "2000-01-02", "Python 3", "Python was left out: too large.",
		"## A directory of 64 ranks of 20MB", "| strata, one rank at a time | 2.000 | 25% | 0.0312 | 105 MB |"} {
		if !strings.Contains(got, part) {
			t.Errorf("the page lacks %q:\n%s", part, got)
		}
	}
}

func TestPythonIsLeftOutWhereItDoesNotFit(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3")
	}
	b := &bench{pythonMax: 1000}
	for _, c := range []struct {
		size, available int64
		want            string
	}{{100, 0, ""}, {100, 600, ""}, {100, 599, "memory"}, {1001, 1 << 40, "asked for"}} {
		if got := b.noPython(c.size, c.available); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%d bytes with %d available: %q, want %q", c.size, c.available, got, c.want)
		}
	}
}
