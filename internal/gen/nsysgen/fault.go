package nsysgen

import (
	"cmp"
	"os"
	"slices"

	"github.com/llmstrata/strata/internal/gen/database"
)

// Fault is what becomes of one kernel of a database.
type Fault struct {
	Added bool // a copy of the kernel changes, and the kernel stays
	// Name is that of the copy, which then runs on a stream of its own; "" is the kernel's.
	Name string
	// Moved returns the new times; first and last are those at which the first and the last kernel start. All are ns.
	Moved func(start, end, first, last int64) (newStart, newEnd int64)
}

// Apply changes the kernel in the middle of the database at path, or nothing if f is nil, and returns its name.
func (f *Fault) Apply(path string) (kernel string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	db, err := database.Read(data)
	if err != nil {
		return "", err
	}
	t, names := db.Table("CUPTI_ACTIVITY_KIND_KERNEL"), db.Table("StringIds")
	start, end, name := t.Column("start"), t.Column("end"), t.Column("demangledName")
	at := func(row []any) int64 { return row[start].(int64) }
	rows := slices.Collect(t.Rows())
	order := slices.SortedStableFunc(slices.Values(rows), func(a, b []any) int { return cmp.Compare(at(a), at(b)) })
	row := order[len(order)/2]
	for s := range names.Rows() {
		if s[0] == row[name] {
			kernel = s[1].(string)
		}
	}
	if f == nil {
		return kernel, nil
	}
	if f.Added {
		row = slices.Clone(row)
		rows = append(rows, row)
	}
	from, to := f.Moved(at(row), row[end].(int64), at(order[0]), at(order[len(order)-1]))
	row[start], row[end] = from, to
	if f.Name != "" {
		kernel = f.Name
		names.Insert(nil, kernel)
		for column, v := range map[string]int64{"streamId": 99, "correlationId": 99999999, "demangledName": names.Last(),
			"shortName": names.Last()} {
			row[t.Column(column)] = v
		}
	}
	t.Replace(t.Columns, rows)
	return kernel, db.WriteFile(path)
}
