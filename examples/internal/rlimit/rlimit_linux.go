package rlimit

import "syscall"

// noLimit is from where a limit is none.
const noLimit = 1 << 62

func init() {
	all, ok := limit()
	if !ok {
		return
	}
	if text := refusal(all, mapped(), Least); text != "" {
		syscall.Write(2, []byte(name()+": "+text+"\n"))
		syscall.Exit(1)
	}
}

// limit returns the limit of the process's address space in bytes, false for none.
func limit() (int64, bool) {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_AS, &l); err != nil || l.Cur >= noLimit {
		return 0, false
	}
	return int64(l.Cur), true
}

// Left returns how much address space is left, false where it is not limited.
func Left() (int64, bool) {
	all, ok := limit()
	return all - mapped(), ok
}

// mapped returns how much of its address space the process uses, 0 if that is not
// known: the first number of statm, in pages.
func mapped() (pages int64) {
	for _, c := range read("/proc/self/statm") {
		if c < '0' || c > '9' {
			break
		}
		pages = 10*pages + int64(c-'0')
	}
	return pages * int64(syscall.Getpagesize())
}

// name is what the program is called by; os.Args is not there yet.
func name() string {
	text := read("/proc/self/comm")
	if n := len(text); n > 1 {
		return string(text[:n-1])
	}
	return "strata"
}

// read returns the first bytes of a small file.
func read(path string) []byte {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer syscall.Close(fd)
	text := make([]byte, 64)
	n, _ := syscall.Read(fd, text)
	return text[:max(n, 0)]
}
