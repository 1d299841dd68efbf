package gen

import "strconv"

// TruthHeader names the columns of [Truth.AppendTSV].
const TruthHeader = "ts_ns\tdur_ns\tdevice\tstream\tkind\tpass\tlayer\thalf\tstage\tcategory\tgraph\tname"

// AppendTSV appends the truth about one activity as a line of tab-separated
// values without its line end.
func (t Truth) AppendTSV(dst []byte) []byte {
	num := func(n int64) { dst = append(strconv.AppendInt(dst, n, 10), '\t') }
	text := func(s string) { dst = append(append(dst, s...), '\t') }
	num(t.Start)
	num(t.Duration)
	num(int64(t.Device))
	num(int64(t.Stream))
	text(t.Kind)
	num(int64(t.Pass))
	num(int64(t.Layer))
	text(t.Half)
	text(t.Stage)
	text(t.Category)
	if t.Graph {
		num(1)
	} else {
		num(0)
	}
	return append(dst, t.Name...)
}
