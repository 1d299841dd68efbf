// Package compress packs what is written as the name of its file says. The same input gives the same bytes.
package compress
