package trace

import "strings"

// LoseDetail counts n losses of one reason and says what was lost. Details of
// the same reason are joined; a detail that is already there is not repeated.
func (b *Builder) LoseDetail(reason LossReason, n int64, detail string) {
	l := b.losses.get(reason)
	l.Count += n
	for _, d := range l.details() {
		if d == detail {
			return
		}
	}
	if l.Detail != "" {
		l.Detail += detailSeparator
	}
	l.Detail += detail
}

const detailSeparator = "; "

func (l *Loss) details() []string { return strings.Split(l.Detail, detailSeparator) }
