//go:build linux || darwin || freebsd

package capture

import "syscall"

// freeSpace returns the bytes that an ordinary user may still write below dir, and false where the system does not say.
func freeSpace(dir string) (int64, bool) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * int64(st.Bsize), true
}
