package scan_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/decimal"
	"github.com/llmstrata/strata/internal/scan"
)

// Numbers of any length mean what their digits say, before everything that may end them, in the middle of a
// buffer and at its end.
func TestNumbersOfAnyLength(t *testing.T) {
	var times []string
	for n := range 20 {
		whole := "9876543210123456789"[:n]
		times = append(times, whole)
		for part := range 6 {
			times = append(times, whole+"."+"908172"[:part])
		}
	}
	times = append(times, "0", "007", "-3", "-3.25", "1e3", "12a", "1:2", "1.5x", "+1", "12345678/", "12345678:1",
		"1234567.12/", "1.2.3")
	for _, text := range times {
		want, err := decimal.Micros([]byte(text))
		for _, end := range []string{"", " ", "\n", strings.Repeat(" ", 40)} {
			// Three alike, so that the last ones are read by what the first one taught.
			event := fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"n","pid":1,"tid":2,"ts":%s%s,"dur":%s%s}`, text, end,
				text, end)
			s := scan.NewScanner(strings.NewReader("["+event+","+event+","+event+"]"), scan.Config{})
			got := 0
			for {
				ev, err := s.Next()
				if err != nil {
					break
				}
				if got++; ev.TS != want || ev.Dur != want || ev.Has&scan.HasDur == 0 {
					t.Errorf("%q: ts %d, dur %d, want %d", text+end, ev.TS, ev.Dur, want)
				}
			}
			if want := map[bool]int{true: 3}[err == nil]; got != want {
				t.Errorf("%q: %d events, want %d", text+end, got, want)
			}
		}
	}
	for n := range 20 {
		text := "1234567890123456789"[:max(n, 1)]
		want, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		for _, sign := range []string{"", "-"} {
			event := fmt.Sprintf(`{"ph":"X","cat":"kernel","name":"n","pid":1,"tid":2,"ts":1,"dur":1,"args":{"x":%s,"correlation":%s%s}}`, text, sign, text)
			s := scan.NewScanner(strings.NewReader("["+event+","+event+","+event+"]"), scan.Config{})
			for i := range 3 {
				if ev, err := s.Next(); err != nil || ev.Correlation != want {
					t.Errorf("event %d: %v, %v, want %s", i, ev.Correlation, err, sign+text)
				}
			}
			want = -want
		}
	}
}
