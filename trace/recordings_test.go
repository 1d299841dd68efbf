package trace_test

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/llmstrata/strata/internal/framework"
	"github.com/llmstrata/strata/trace"
)

// TestRecordings: which files of a folder are of one start of the profiler, by the names that servers give them.
func TestRecordings(t *testing.T) {
	const often, hourly, daily = time.Second, time.Hour, 24 * time.Hour // between two files
	for _, c := range []struct {
		name  string
		files string
		want  string // recordings by name, newest first, and how many files each has
		apart time.Duration
	}{
		{"one replica of SGLang", "1760-TP-0.trace.json.gz 1760-TP-1.trace.json.gz", "1760:2", often},
		{"stages", "1760-TP-0-DECODE.trace.json.gz 1760-TP-0-EXTEND.trace.json.gz 1760-TP-1-DECODE.trace.json.gz 1760-TP-1-EXTEND.trace.json.gz", "1760:4", often},
		{"two starts", "1760000000.1-TP-0.trace.json.gz 1760000000.1-TP-1.trace.json.gz 1760000099.7-TP-0.trace.json.gz 1760000099.7-TP-1.trace.json.gz", "1760000099.7:2 1760000000.1:2", often},
		{"one start, a time each", "rank0.1760000000001.pt.trace.json.gz rank1.1760000000002.pt.trace.json.gz",
			"1760000000001:2", often},
		{"two starts, a time each", "rank0.1760000000001.pt.trace.json.gz rank1.1760000000002.pt.trace.json.gz rank0.1760000009001.pt.trace.json.gz rank1.1760000009002.pt.trace.json.gz", "1760000009002:2 1760000000002:2", often},
		{"pipeline stages", "9-TP-0-PP-0.trace.json.gz 9-TP-1-PP-0.trace.json.gz 9-TP-0-PP-1.trace.json.gz 9-TP-1-PP-1.trace.json.gz", "9:4", often},
		{"attention with replicas", "9-TP-0-DP-0.trace.json.gz 9-TP-1-DP-1.trace.json.gz", "9:2", often},
		{"replicas that count their ranks by themselves",
			"dp0_pp0_tp0_rank0.17600000001.pt.trace.json.gz dp0_pp0_tp1_rank1.17600000002.pt.trace.json.gz dp1_pp0_tp0_rank0.17600000003.pt.trace.json.gz dp1_pp0_tp1_rank1.17600000004.pt.trace.json.gz", "dp1:2 dp0:2", often},
		{"processes of a host", "node7_41.1760000000001.pt.trace.json node7_42.1760000000009.pt.trace.json", "node7:2", often},
		{"replicas in folders", "a/x-TP-0.trace.json b/x-TP-0.trace.json b/x-TP-1.trace.json", "b/x:2 a/x:1", often},
		{"ranks in folders", "a/x-TP-0.trace.json b/x-TP-1.trace.json x-TP-2.trace.json", "x:3", often},
		{"ranks and stages in folders", "a/prefill/x-TP-0.trace.json b/decode/x-TP-1.trace.json b/y-TP-1.trace.json",
			"b/y:1 x:2", often},
		{"two runs of ranks in folders", "a/rank0/x.trace.json a/rank1/x.trace.json b/rank0/x.trace.json " +
			"b/rank1/x.trace.json", "b/x:2 a/x:2", often},
		{"one name without ranks in folders", "a/x.trace.json b/x.trace.json", "b/x:1 a/x:1", often},
		{"stages in folders", "prefill/x-TP-0.trace.json decode/x-TP-0.trace.json", "x:2", often},
		{"unlike names", "old.json new.json", "new:1 old:1", often},
		{"a time each, no rank", "run-1760000000001.json run-1760000000002.json",
			"run-1760000000002:1 run-1760000000001:1", often},
		{"merged and left over", "x-TP-0.trace.json merged-x.trace.json x-TP-1.trace.json.tmp", "x:1", often},
		{"ranks of two days in folders", "a/x-TP-0.trace.json b/x-TP-1.trace.json", "b/x:1 a/x:1", daily},
		{"ranks of one run in folders, half an hour apart", "a/x-TP-0.trace.json b/x-TP-1.trace.json", "x:2", hourly / 2},
		{"ranks of two runs in folders, two hours apart", "a/x-TP-0.trace.json b/x-TP-1.trace.json", "b/x:1 a/x:1",
			2 * hourly},
	} {
		var files []trace.File
		for i, name := range strings.Fields(c.files) {
			says := framework.ReadFileName(framework.All(), name)
			base := path.Base(name)
			files = append(files, trace.File{Path: "/r/" + name, Rank: says.Rank, Stage: says.Stage,
				ModTime: time.Unix(0, 0).Add(time.Duration(i) * c.apart),
				Merged:  strings.HasPrefix(base, "merged-"), Partial: strings.HasSuffix(base, ".tmp")})
		}
		for range 2 {
			var got []string
			for _, r := range trace.Recordings("/r/", files) {
				got = append(got, r.Name+":"+string(rune('0'+len(r.Files))))
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%s: %s, want %s", c.name, s, c.want)
			}
			slices.Reverse(files) // the order does not matter
		}
	}
}
