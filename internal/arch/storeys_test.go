package arch

import "testing"

// Storeys is the longest way down from a package through imports of this module, the package itself counted.
func (s *Source) Storeys(dir string, known map[string]int) int {
	if known[dir] == 0 {
		below := 0
		if p := s.find(dir); p != nil {
			for _, f := range p.Files {
				for _, imp := range f.Imports {
					if d, ok := s.local(imp); ok && !f.Test {
						below = max(below, s.Storeys(d, known))
					}
				}
			}
		}
		known[dir] = 1 + below
	}
	return known[dir]
}

// TestStoreys: what is read before one package is understood does not grow.
func TestStoreys(t *testing.T) {
	small := load(t, map[string]string{
		"a.go":   "package m\nimport (\n_ \"" + module + "/b\"\n_ \"" + module + "/c\"\n)\n",
		"b/b.go": "package b\nimport _ \"" + module + "/c\"\n", "c/c.go": "package c\nimport _ \"fmt\"\n",
		"c/c_test.go": "package c_test\nimport _ \"" + module + "/b\"\n"})
	if n := small.Storeys(".", map[string]int{}); n != 3 {
		t.Errorf("a chain of three packages has %d storeys", n)
	}
	src := own(t)
	for dir, most := range map[string]int{".": 9, "examples/strata": 14} {
		if n := src.Storeys(dir, map[string]int{}); n < 2 || n > most {
			t.Errorf("%s stands on %d storeys, want %d at most: import what is below, or let a package with one user be part "+
				"of it", dir, n, most)
		}
	}
}
