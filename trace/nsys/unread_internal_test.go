package nsys

// Unread returns what each table that is not read would add.
func Unread() map[string]string {
	out := map[string]string{}
	for _, u := range unread {
		out[u.table] = u.adds
	}
	return out
}
