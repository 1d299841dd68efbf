package layer

import "github.com/llmstrata/strata/layer/internal/segment"

// The structural core is package segment: pure, and where every number that decides stands.
type sequence = segment.Sequence

// params are the numbers that every analysis decides by.
var params = segment.DefaultParams()

// An interner gives names dense ids in order of first appearance.
type interner struct {
	ids   map[string]int32
	names []string
}

func newInterner() *interner { return &interner{ids: make(map[string]int32)} }

func (in *interner) id(s string) int32 {
	if id, ok := in.ids[s]; ok {
		return id
	}
	id := int32(len(in.names))
	in.ids[s] = id
	in.names = append(in.names, s)
	return id
}
