package intern

// Slots is how many entries a memo has that [Slot] leads into: as many as there
// are texts that come again and again. It is a power of two.
const Slots = 1 << 9

// Slot is where a memo of [Slots] entries looks for s. It mixes the length of s
// with some of its bytes, which costs a fraction of hashing a kernel's long name:
// those begin alike, and differ in template arguments. Texts that share a slot cost
// a look-up more.
func Slot[T string | []byte](s T) uint32 {
	n := len(s)
	if n == 0 {
		return 0
	}
	h := uint32(n)
	for _, at := range [...]int{0, n / 4, n / 2, n - 1 - n/4, n - 1 - n/8, n - 1} {
		h = h*31 + uint32(s[at])
	}
	return h * 2654435761 >> (32 - 9)
}
