package apicall

import "strings"

// IsGraphLaunch reports whether name is a call that replays a captured graph:
// cudaGraphLaunch, cuGraphLaunch, hipGraphLaunch, with or without a version suffix.
func IsGraphLaunch(name string) bool { return strings.Contains(name, "GraphLaunch") }
