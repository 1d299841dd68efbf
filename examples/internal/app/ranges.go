package app

import (
	"flag"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// ratio and counts are the placeholders of flags whose numbers are checked.
const ratio = "RATIO"

var counts = []string{"PERCENT", "N", "NUMBER", "SIZE"}

// checkRanges refuses numbers that a flag's placeholder rules out: a RATIO is
// from 0 to 1, and counts and percentages are not negative, unless the default
// is, which then has a meaning of its own.
func checkRanges(fs *flag.FlagSet) (err error) {
	fs.Visit(func(f *flag.Flag) {
		v, perr := strconv.ParseFloat(f.Value.String(), 64)
		if err != nil || perr != nil {
			return
		}
		kind, _ := flag.UnquoteUsage(f)
		switch kind = strings.ToUpper(kind); {
		case kind == ratio && !(v >= 0 && v <= 1):
			err = fmt.Errorf("--%s %s: want a ratio from 0 to 1", f.Name, f.Value)
		case slices.Contains(counts, kind) && !(v >= 0) && !strings.HasPrefix(f.DefValue, "-"):
			err = fmt.Errorf("--%s %s: want no negative number", f.Name, f.Value)
		}
	})
	return err
}
