package intern

// Keys numbers keys that come in runs, counted from 0 in the order of first appearance: the one that was asked for
// before is not looked up. The zero Keys is empty.
type Keys[K comparable] struct {
	all  []K
	of   map[K]int
	last int
}

// ID returns the number of a key; that of a new one is the number of keys before it.
func (k *Keys[K]) ID(key K) int {
	if k.last < len(k.all) && k.all[k.last] == key {
		return k.last
	}
	return k.find(key)
}

func (k *Keys[K]) find(key K) int {
	id, ok := k.of[key]
	if !ok {
		if k.of == nil {
			k.of = map[K]int{}
		}
		id = len(k.all)
		k.all, k.of[key] = append(k.all, key), id
	}
	k.last = id
	return id
}

// Key returns the key of a number.
func (k *Keys[K]) Key(id int) K { return k.all[id] }
