package table

import (
	"strings"
	"unicode/utf8"
)

// To how many characters a column of text is narrowed to fit a width: first while it can be read with ease, then,
// when titles are broken, too, to one or two words a line. Names of kernels, which say what a row is, are narrowed
// below what the longest base name needs when the others have one or two words; they go on in the next line then.
const (
	easyColumn  = 24
	wordsColumn = 18
	leastColumn = 12
	leastName   = 26
)

// fit makes lines of at most so many characters, and returns the tables that this takes, one where it can be.
func (f *fixed) fit(room int) []*fixed {
	if f.squeeze(room, true) {
		return []*fixed{f}
	}
	if f = f.withoutEmpty(); f.squeeze(room, true) {
		return []*fixed{f}
	}
	if f.gap = narrowGap; len(f.cols) == 1 || f.squeeze(room, true) || f.squeeze(room, false) {
		return []*fixed{f}
	}
	f.gap = gap
	f.squeeze(room, false)
	return f.divide(room)
}

// squeeze narrows columns until lines have at most so many characters, and reports whether they have. Where base names
// are to stay, names are not narrowed further than the longest of them.
func (f *fixed) squeeze(room int, bases bool) bool {
	f.spread()
	f.narrow(room, easyColumn, false)
	f.narrow(room, f.longestBase(), true)
	f.breakTitles(room)
	if !bases {
		f.narrow(room, wordsColumn, false)
		f.narrow(room, max(leastColumn, min(leastName, room/3)), true)
	}
	f.narrow(room, leastColumn, false)
	return f.total() <= room
}

// longestBase is what the longest base name of all needs.
func (f *fixed) longestBase() int {
	longest := leastColumn
	for _, row := range f.rows {
		for i, lines := range row {
			for _, l := range lines {
				if from, to := baseName(l); f.cols[i].Keep == Both {
					longest = max(longest, essenceNeeds(l, from, to))
				}
			}
		}
	}
	return longest
}

// narrow takes characters from the widest columns of text, or from those of names, down to least.
func (f *fixed) narrow(room, least int, names bool) {
	for over := f.total() - room; over > 0; over-- {
		longest := -1
		for i, n := range f.width {
			if c := &f.cols[i]; c.Align == Left && c.Keep == Both == names && n > least &&
				(longest < 0 || n > f.width[longest]) {
				longest = i
			}
		}
		if longest < 0 {
			return
		}
		f.width[longest]--
	}
}

// breakTitles breaks titles that are wider than the cells below them into lines, the one that saves most first.
func (f *fixed) breakTitles(room int) {
	for f.total() > room {
		best, gain := -1, 0
		for i, t := range f.titles {
			need := f.cells[i]
			for _, word := range strings.Fields(t) {
				need = max(need, utf8.RuneCountInString(word))
			}
			if f.width[i]-need > gain {
				best, gain = i, f.width[i]-need
			}
		}
		if best < 0 {
			return
		}
		f.width[best] -= gain
	}
}

// withoutEmpty is the table less the columns, but the first, in which no cell has a text.
func (f *fixed) withoutEmpty() *fixed {
	keep := []int{0}
	for i := 1; i < len(f.cols); i++ {
		if f.cells[i] > 0 {
			keep = append(keep, i)
		}
	}
	return f.only(keep)
}

// only is the table with only these columns.
func (f *fixed) only(keep []int) *fixed {
	out := &fixed{gap: f.gap, rows: make([][][]string, len(f.rows))}
	for _, i := range keep {
		out.cols, out.titles, out.cells, out.width = append(out.cols, f.cols[i]), append(out.titles, f.titles[i]),
			append(out.cells, f.cells[i]), append(out.width, f.width[i])
	}
	for r, row := range f.rows {
		for _, i := range keep {
			if row != nil {
				out.rows[r] = append(out.rows[r], row[i])
			}
		}
	}
	return out
}

// divide makes several tables of a squeezed one, of as many columns as fit each, the first ones, which say what a row
// is, in all.
func (f *fixed) divide(room int) []*fixed {
	key := []int{0}
	if len(f.cols) > 2 && f.cols[0].Align == Left && f.cols[1].Align == Left &&
		2*(f.width[0]+len(gap)+f.width[1]) <= room {
		key = append(key, 1)
	}
	var parts []*fixed
	for at := len(key); at < len(f.cols); {
		cols := append([]int(nil), key...)
		for width := f.only(key).total(); at < len(f.cols); at++ {
			if width += len(gap) + f.width[at]; width > room && len(cols) > len(key) {
				break
			}
			cols = append(cols, at)
		}
		part := f.only(cols)
		part.squeeze(room, false)
		parts = append(parts, part)
	}
	return parts
}
