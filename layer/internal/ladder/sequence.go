package ladder

import "github.com/llmstrata/strata/layer/internal/segment"

// Sequence is what the structural core works on, package segment: pure, and where every number that decides stands.
type Sequence = segment.Sequence

// params are the numbers that every analysis decides by.
var params = segment.DefaultParams()

// Params returns a copy of them: nobody outside can change what others decide by.
func Params() *segment.Params { return segment.DefaultParams() }

// Interner gives names dense ids in order of first appearance.
type Interner struct {
	ids   map[string]int32
	names []string
}

// NewInterner returns an empty one.
func NewInterner() *Interner { return &Interner{ids: make(map[string]int32)} }

// ID is the number of a text, a new one for a text not seen yet.
func (in *Interner) ID(s string) int32 {
	if id, ok := in.ids[s]; ok {
		return id
	}
	id := int32(len(in.names))
	in.ids[s] = id
	in.names = append(in.names, s)
	return id
}
