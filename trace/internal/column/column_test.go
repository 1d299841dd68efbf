package column

import (
	"context"
	"reflect"
	"testing"
)

// TestEveryColumnIsMoved: what is done with rows is done with each of their fields, found by reflection.
func TestEveryColumnIsMoved(t *testing.T) {
	three := func() (c Columns) {
		for i, v := range values(&c) {
			for row := range 3 {
				v.Set(reflect.Append(v, reflect.ValueOf(10*i+row+1).Convert(v.Type().Elem())))
			}
		}
		return c
	}
	rows := func(c *Columns) (out [][]uint64) {
		for _, v := range values(c) {
			var field []uint64
			for k := range v.Len() {
				field = append(field, v.Index(k).Convert(reflect.TypeFor[uint64]()).Uint())
			}
			out = append(out, field)
		}
		return out
	}
	check := func(what string, c *Columns, want ...uint64) {
		t.Helper()
		for i, got := range rows(c) {
			for k := range want {
				if len(got) != len(want) || got[k] != uint64(10*i)+want[k] {
					t.Errorf("%s: field %d holds %v, want %v above %d", what, i, got, want, 10*i)
					break
				}
			}
		}
	}
	c, more := three(), three()
	size := c.Size()
	c.Take(context.Background(), []int32{2, 0, 1})
	check("Take", &c, 3, 1, 2)
	c.Append(&more, func(n int) int { return n })
	check("Append", &c, 3, 1, 2, 1, 2, 3)
	if got := c.Size(); got != 2*size || size != 3*(9*8+9*4+2+2*1) {
		t.Errorf("sizes %d and %d: want twice as much, and 112 bytes a row", size, got)
	}
	c.Cut(2)
	check("Cut", &c, 3, 1)
	c.Truncate()
	for i, got := range rows(&c) {
		if len(got) != 0 {
			t.Errorf("Truncate left field %d: %v", i, got)
		}
	}
}

// values are the slices of all columns.
func values(c *Columns) (out []reflect.Value) {
	v := reflect.ValueOf(c).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Struct {
			f = f.FieldByName("V")
		}
		out = append(out, f)
	}
	return out
}
