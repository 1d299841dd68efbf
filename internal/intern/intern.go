package intern

import "hash/maphash"

// Table numbers byte strings. It is for one goroutine. Looking up what is there
// does not allocate.
//
// It is a linear-probing hash table whose slots hold the hash's upper half
// beside the number, so that a probe that misses reads no string: trace files
// repeat a few thousand names millions of times, and this lookup is done for
// every event.
type Table struct {
	seed  maphash.Seed
	slots []slot // len is a power of two
	keys  []string
}

type slot struct {
	hash uint32
	id   uint32 // number + 1; 0 is free
}

// New returns an empty Table.
func New() *Table {
	return &Table{seed: maphash.MakeSeed(), slots: make([]slot, 256)}
}

// Key returns the string with the given number.
func (t *Table) Key(id uint32) string { return t.keys[id] }

// ID returns the number of b, and whether b is new. It copies b if it is.
func (t *Table) ID(b []byte) (id uint32, isNew bool) {
	h := maphash.Bytes(t.seed, b)
	tag, mask := uint32(h>>32), uint64(len(t.slots)-1)
	i := h & mask
	for ; t.slots[i].id != 0; i = (i + 1) & mask {
		if s := t.slots[i]; s.hash == tag && t.keys[s.id-1] == string(b) {
			return s.id - 1, false
		}
	}
	return t.add(i, tag, string(b)), true
}

// StringID is ID for a string, which is kept as it is.
func (t *Table) StringID(key string) (id uint32, isNew bool) {
	h := maphash.String(t.seed, key)
	tag, mask := uint32(h>>32), uint64(len(t.slots)-1)
	i := h & mask
	for ; t.slots[i].id != 0; i = (i + 1) & mask {
		if s := t.slots[i]; s.hash == tag && t.keys[s.id-1] == key {
			return s.id - 1, false
		}
	}
	return t.add(i, tag, key), true
}

func (t *Table) add(i uint64, tag uint32, key string) uint32 {
	id := uint32(len(t.keys))
	t.keys = append(t.keys, key)
	t.slots[i] = slot{tag, id + 1}
	if 4*len(t.keys) > 3*len(t.slots) {
		t.grow()
	}
	return id
}

func (t *Table) grow() {
	slots := make([]slot, 2*len(t.slots))
	mask := uint64(len(slots) - 1)
	for id, k := range t.keys {
		h := maphash.String(t.seed, k)
		i := h & mask
		for slots[i].id != 0 {
			i = (i + 1) & mask
		}
		slots[i] = slot{uint32(h >> 32), uint32(id) + 1}
	}
	t.slots = slots
}
