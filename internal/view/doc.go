// Package view shows what package layer found: the passes of a GPU and the layers of one of them ([Timeline]), one
// layer kernel by kernel ([Detail]), two layers side by side ([Diff]). Each is a plain value that is a JSON document,
// and prints itself as tables.
package view
