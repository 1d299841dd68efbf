// Package vocabulary reads and writes the words of closed sets: named types
// whose values each have one word in documents and on command lines.
package vocabulary
