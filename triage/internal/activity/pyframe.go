package activity

import (
	"strconv"
	"strings"
)

// SplitLocation splits a rendered location; line is "" where it has none.
func SplitLocation(loc string) (path, line, fn string) {
	head, fn, ok := strings.Cut(loc, " ")
	if !ok {
		return "", "", ""
	}
	i := strings.LastIndexByte(head, ':')
	if i < 0 {
		return "", "", ""
	}
	return head[:i], head[i+1:], fn
}

// ModuleClass is the class in the name of a module frame, "nn.Module: Qwen3Attention_0".
func ModuleClass(name string) string {
	_, class, _ := strings.Cut(name, ": ")
	return ClassOf(class)
}

// ClassOf is the class of an instance, "Qwen3Attention_0".
func ClassOf(class string) string {
	if i := strings.LastIndexByte(class, '_'); i > 0 {
		if _, err := strconv.Atoi(class[i+1:]); err == nil {
			return class[:i]
		}
	}
	return class
}
