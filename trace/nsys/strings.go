package nsys

import "strings"

// stringTable is StringIds. Ids are dense in real exports; others go to the map.
type stringTable struct {
	dense  []string
	sparse map[int64]string
}

// maxString bounds one string. StringIds also holds whole log files; the
// longest kernel names seen are below 20 kB.
const maxString = 1 << 20

func (s *stringTable) set(id int64, v string) {
	if id >= 0 && id <= int64(len(s.dense))+1024 && id < 1<<26 {
		for int64(len(s.dense)) <= id {
			s.dense = append(s.dense, "")
		}
		s.dense[id] = v
		return
	}
	if s.sparse == nil {
		s.sparse = map[int64]string{}
	}
	s.sparse[id] = v
}

func (s *stringTable) get(id int64) string {
	if id >= 0 && id < int64(len(s.dense)) && s.dense[id] != "" {
		return s.dense[id]
	}
	return s.sparse[id]
}

func (l *loader) readStrings() error {
	return l.db.scan(tableStrings, []string{"id", "value"}, func(r row) error {
		v := r.Text(1)
		if len(v) > maxString {
			v = strings.ToValidUTF8(v[:maxString], "")
			l.longText++
		}
		l.strings.set(r.Int(0), v)
		return nil
	})
}

// name is the first of the string ids that is known.
func (f *facts) name(ids ...int64) string {
	for _, id := range ids {
		if s := f.strings.get(id); s != "" {
			return s
		}
	}
	return ""
}
