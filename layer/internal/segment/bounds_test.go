package segment

import (
	"fmt"
	"strings"
	"testing"
)

// stretchOfLetters has a kernel for each letter: e looks up an embedding, w works, s samples. The GPU rests before those
// in upper case.
func stretchOfLetters(letters string) (Stretch, []Mark) {
	s, marks := Stretch{Sequence: &Sequence{}}, make([]Mark, len(letters))
	for i, r := range strings.ToLower(letters) {
		s.Base, s.ID, s.Role = append(s.Base, r), append(s.ID, r), append(s.Role, 0)
		s.Gap, s.Time = append(s.Gap, 1), append(s.Time, 1)
		if letters[i] != byte(r) {
			s.Gap[i] = 100
		}
		marks[i] = map[rune]Mark{'e': Begins, 'w': Works, 's': Samples}[r]
	}
	return s, marks
}

// TestBoundsBeforePrologues: what the window begins with before its first embedding begins the other passes, too; a
// window that begins within a pass says nothing of that.
func TestBoundsBeforePrologues(t *testing.T) {
	const works = "wxwxwxwxwx"
	for name, c := range map[string]struct{ letters, want string }{
		"a prologue":                    {strings.Repeat("abce"+works, 3), "[14 28]"},
		"a rest within it":              {"abce" + works + "abCe" + works + "abce" + works, "[14 28]"},
		"a rest before it":              {"abce" + works + "xYabce" + works, "[15]"},
		"another one":                   {"abce" + works + "yyce" + works, "[16]"},
		"the window begins in a pass":   {"wxwxwxwxxabce" + works + "xxabce" + works, "[12 28]"},
		"the window begins at a lookup": {"e" + works + "abce" + works, "[14]"},
	} {
		s, marks := stretchOfLetters(c.letters)
		if got := fmt.Sprint(Bounds(s, marks)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
