package app

import (
	"bytes"
	"encoding/json"
	"testing"
)

// TestNoNullLists: nil lists and maps at any depth are written as empty ones. Fields that are left out stay out,
// pointers stay null, and the value itself is not changed.
func TestNoNullLists(t *testing.T) {
	type Inner struct {
		List []int          `json:"list"`
		Left []int          `json:"left,omitempty"`
		Map  map[string]int `json:"map"`
		None *int           `json:"none"`
	}
	type outer struct {
		*Inner
		Many  []Inner           `json:"many"`
		By    map[string]*Inner `json:"by"`
		Any   any               `json:"any"`
		Raw   []byte            `json:"raw"`
		hides []int
	}
	v := outer{&Inner{}, []Inner{{List: []int{1}}}, map[string]*Inner{"a": {}}, Inner{}, nil, nil}
	var b bytes.Buffer
	if err := WriteJSON(&b, v); err != nil {
		t.Fatal(err)
	}
	empty := `{"list":[],"map":{},"none":null}`
	want := empty[:len(empty)-1] + `,"many":[{"list":[1],"map":{},"none":null}],"by":{"a":` + empty + `},"any":` +
		empty + `,"raw":null}` + "\n"
	var got bytes.Buffer
	if err := json.Compact(&got, b.Bytes()); err != nil {
		t.Fatal(err)
	}
	if got.String()+"\n" != want {
		t.Errorf("got  %s\nwant %s", &got, want)
	}
	if v.Inner.List != nil || v.By["a"].Map != nil || v.hides != nil {
		t.Errorf("the value was changed: %+v", v)
	}
	if got := withoutNulls(nil); got != nil {
		t.Errorf("nil became %v", got)
	}
}
