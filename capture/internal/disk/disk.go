package disk

// Free returns the bytes that an ordinary user may still write below dir, and
// false where the system does not say.
func Free(dir string) (int64, bool) { return free(dir) }
