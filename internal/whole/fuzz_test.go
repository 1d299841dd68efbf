package whole_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/whole"
)

// FuzzBytes reads any bytes as a trace and takes what came of it through every
// accessor, every analysis and the writers of copies. Most seeds are a few
// events, so that many variants can be tried.
func FuzzBytes(f *testing.F) {
	w := whole.New(f)
	f.Add(whole.Tiny(gen.Eager, gen.NVIDIA))
	for _, s := range []string{
		`{"traceEvents":[` + kernel(1, 10, "gemm") + `,` + kernel(2, 20, "norm") + `,` + launch(1, 5) + `,` +
			launch(2, 6) + `]}`,
		`{"traceEvents":[{"ph":"C","name":"GPU 0 Power","pid":0,"ts":1,"args":{"W":3}},` + kernel(1, 10, "gemm") + `]}`,
		`[` + kernel(1, 10, "a") + `,` + kernel(1, 10, "a") + `,` + launch(1, 5), // cut
		`{"deviceProperties":[{"id":0,"name":"x"}],"distributedInfo":{"rank":0},"traceEvents":[` +
			kernel(1, 1e15, "k") + `,` +
			`{"ph":"X","cat":"user_annotation","name":"step[DECODE bs=2]","pid":1,"tid":1,"ts":0,"dur":9e15},` +
			`{"ph":"X","cat":"python_function","name":"nn.Module: A_0","pid":1,"tid":1,"ts":1,"dur":50,"args":{"Python id":1}},` + launch(1, 7) + `],"traceName":"x"}`,
		`{"traceEvents":[{"ph":"B","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1},{"ph":"E","pid":0,"tid":7,"ts":2},{"ph":"M","name":"thread_name","args":{"name":"stream 7"}}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		w.Text(t, data)
	})
}

// kernel and launch are events of a hand-written trace.
func kernel(correlation int, ts float64, name string) string {
	return fmt.Sprintf(`{"ph":"X","cat":"kernel","name":%q,"pid":0,"tid":7,"ts":%g,"dur":4.5,"args":{"device":0,"stream":7,"correlation":%d,"grid":[1,1,1]}}`, name, ts, correlation)
}

func launch(correlation int, ts float64) string {
	return fmt.Sprintf(`{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":%g,"dur":1,"args":{"correlation":%d}}`, ts, correlation)
}

// FuzzEdits takes a good trace and edits whole events and numbers in it: what
// comes out is still a trace, so that the analyses get far with it.
func FuzzEdits(f *testing.F) {
	w := whole.New(f)
	good := map[byte][]byte{}
	for mode := range byte(3) {
		for vendor := range byte(2) {
			good[mode|vendor<<4] = whole.Tiny(gen.Mode(mode), gen.Vendor(vendor))
		}
	}
	f.Add(byte(0), []byte{0, 10, 1, 1, 20, 2, 2, 30, 3, 3, 40, 4, 4, 50, 5, 5, 60, 0})
	f.Add(byte(1), []byte{3, 10, 0, 3, 90, 1, 3, 91, 2, 3, 92, 3, 3, 93, 4, 3, 94, 5, 3, 95, 6})
	f.Add(byte(0x12), []byte{6, 10, 200, 6, 90, 100, 1, 0, 0, 5, 3, 99, 4, 200, 17})
	f.Fuzz(func(t *testing.T, which byte, edits []byte) {
		w.Text(t, edit(good[which%3|which>>4%2<<4], edits))
	})
}

// hostileNumbers replace times, durations and ids.
var hostileNumbers = []string{
	"0", "-1", "1e18", "-9223372036854775.808", "9223372036854775.807", "18446744073709551615", "1e400", "-5.-123",
	"NaN", "Infinity",
	`"12.5"`, "null", "0.0001", "4294967295", "{}", "[1]", "1e-400", "9007199254740993", "-0", "true",
}

// edit applies edits of three bytes (operation, position, value) to the lines of a trace.
func edit(text, edits []byte) []byte {
	lines := bytes.SplitAfter(text, []byte("\n"))
	for ; len(edits) >= 3 && len(lines) > 0; edits = edits[3:] {
		// Positions are spread over the file; a prime step reaches every line.
		at := (int(edits[1])*257 + int(edits[2])) % len(lines)
		other := (int(edits[2])*131 + int(edits[1])) % len(lines)
		switch edits[0] % 7 {
		case 0: // drop
			lines[at] = nil
		case 1: // repeat
			lines[at] = bytes.Repeat(lines[at], 1+int(edits[2])%4)
		case 2: // move
			lines[at], lines[other] = lines[other], lines[at]
		case 3: // another number
			lines[at] = renumber(lines[at], int(edits[2]))
		case 4: // cut
			lines[at] = lines[at][:len(lines[at])*int(edits[2])/256]
		case 5: // one byte
			if n := len(lines[at]); n > 0 {
				lines[at] = bytes.Clone(lines[at])
				lines[at][int(edits[2])%n] ^= edits[1] | 1
			}
		case 6: // truncate the file
			if len(edits) == 3 {
				lines = lines[:at]
			}
		}
	}
	return bytes.Join(lines, nil)
}

// renumber replaces one number after a colon by a hostile one.
func renumber(line []byte, pick int) []byte {
	var starts []int
	for i := 1; i+1 < len(line); i++ {
		if line[i] == ':' && line[i-1] == '"' {
			starts = append(starts, i+1)
		}
	}
	if len(starts) == 0 {
		return line
	}
	from := starts[pick/len(hostileNumbers)%len(starts)]
	to := from
	for to < len(line) && line[to] != ',' && line[to] != '}' && line[to] != '\n' {
		to++
	}
	return append(append(append([]byte{}, line[:from]...), hostileNumbers[pick%len(hostileNumbers)]...), line[to:]...)
}

// FuzzEvents builds traces event by event, as a reader of another format would:
// any order, any times, any ids.
func FuzzEvents(f *testing.F) {
	w := whole.New(f)
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 30, 4, 5, 6, 7, 8, 1, 2, 60, 4, 5, 6, 7, 8})
	f.Add(bytes.Repeat([]byte{0, 1, 10, 3, 0, 1, 1, 1, 4, 3, 9, 3, 1, 0, 1, 1, 6, 5, 8, 4, 1, 0, 0, 1}, 20))
	f.Add(bytes.Repeat([]byte{0, 7, 250, 13, 2, 9, 200, 1, 0, 8, 251, 14, 2, 9, 200, 1}, 8))
	f.Fuzz(func(t *testing.T, data []byte) {
		w.Loaded(t, whole.Build(data), data)
	})
}
