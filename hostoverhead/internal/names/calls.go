package names

import "strings"

// Short leaves out leading directories of a Python frame that is longer than
// width bytes: frames differ at the end.
func Short(name string, width int) string {
	file := strings.Index(name, ".py")
	short := name
	for len(short) > width {
		i := strings.IndexByte(strings.TrimPrefix(short, "…/"), '/')
		if i < 0 || len(name)-len(short)+i > file {
			break
		}
		short = "…/" + strings.TrimPrefix(short, "…/")[i+1:]
	}
	return short
}
