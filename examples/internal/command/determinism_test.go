package command_test

import (
	"bytes"
	"compress/gzip"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/gate"
	"github.com/llmstrata/strata/internal/gen"
	"github.com/llmstrata/strata/internal/gen/nsysgen"
	"github.com/llmstrata/strata/internal/gen/pftracegen"
	"github.com/llmstrata/strata/internal/testdata"
)

// sameRuns is how often each document is made. Some kinds of chance, such as two
// equal sort keys in a map, show in one run of many only: before a release,
//
//	go test ./examples/internal/command -run SameBytes -runs 20
var sameRuns = flag.Int("runs", 5, "how often TestSameBytes makes each document")

// documents are one question for each program, input and format. A word in
// capitals is an input of inputs, or a file that the program writes: OUT and what
// follows it. The heavy ones are asked once for each number of
// processors.
var documents = []struct {
	args  string
	heavy bool
}{
	{"report RUN", false}, {"report RUN --all --format markdown", false}, {"report RUN --format json", false},
	{"report RUN --html OUT.html", false},
	{"report RUN --fail-on idle=20% --fail-on host-caused=5% --format junit", false},
	{"report RUN --fail-on idle=20% --format sarif", false},
	{"report RUN --fail-on idle=20% --format benchfmt", false},
	{"report RUN --fail-on idle=20% --format prometheus", false},
	{"report RANKS --all-ranks --format json", true}, {"report NSYS --format json", true},
	{"report LARGE --format json", true},
	{"answer RUN --format json", false}, {"answer RUN --question host --budget 8k", false},
	{"answer RUN --against RUN --question regress --format json --limit 3", false},
	{"layers RUN --format markdown", false}, {"breakdown RUN --layer 1 --format markdown", false},
	{"host RUN --format markdown", false}, {"host-compare RUN --format markdown", false},
	{"perfetto RUN --format markdown", false}, {"bundle --analysis-file REPORT --format json", false},
	{"layers RUN --show-all-passes", false}, {"layers RUN --format json", false}, {"layers RUN --html OUT.html", false},
	{"layers PFTRACE --format json", false}, {"layers LARGE --format json", true},
	{"breakdown RUN --layer 2 --compare-layer 3", false}, {"breakdown RUN --layer 3 --format compute-flow", false},
	{"breakdown RUN --layer 3 --format json", false}, {"breakdown --plan --config CONFIG", false},
	{"light RUN --config CONFIG --tokens 8 --kv-len 640", false},
	{"light RUN --config CONFIG --format markdown", false},
	{"light RUN --config CONFIG --format json", false}, {"light RUN --config CONFIG --html OUT.html", false},
	{"light --config CONFIG --device H100 --tokens 8 --kv-len 640 --format json", false},
	{"triage RUN --format text", false}, {"triage RUN --format markdown", false},
	{"triage RUN --min-share 0 --format json", false},
	{"triage RUN --html OUT.html", false}, {"triage RUN --pprof OUT.pb.gz", false},
	{"triage RUN --fuse-mode keyword --overlap-mode published --format json", false},
	{"triage --mapping-input RUN --formal-input RUN --format json", false},
	{"triage --input RUN --compare-input RUN --format markdown", false},
	{"triage LARGE --format json", true},
	{"host RUN", false}, {"host RUN --handoff --format json", false},
	{"host RUN --comparable --devices merged --format json", false},
	{"host RANKS --format json", true}, {"host NSYS --format json", true},
	{"host-compare --baseline NSYS --target NSYS --format json", true}, {"host-compare RUN", false},
	{"host-compare RUN --format json", false},
	{"compare --a RUN --b RUN", false}, {"compare --a RUN --b RUN --format markdown", false},
	{"compare --a RUN --b RUN --format json", false},
	{"compare --a RUN --b RUN --format html", false}, {"compare --a RUN --b RUN --fail-on 3% --format junit", false},
	{"compare --a RUN --b RUN --fail-on 3% --format sarif", false},
	{"compare --a RUN --b RUN --fail-on 3% --format benchfmt", false},
	{"compare --a RUN --b RUN --fail-on 3% --format prometheus", false}, {"compare --b RUN --save OUT.json", false},
	{"export RUN --stacks --module", false}, {"export RUN --format ndjson", false}, {"export NSYS --device all", true},
	{"export LARGE --stacks", true},
	{"export PFTRACE --format ndjson", false},
	{"perfetto RUN --layers 1,3", false}, {"perfetto RUN --layers 1,3 --format json", false},
	{"perfetto RUN --annotate OUT.json.gz", false}, {"perfetto RUN --annotate OUT.json", false},
	{"perfetto RUN --annotate OUT.pftrace", false},
	{"perfetto RUN --annotate OUT.json.zst", false}, {"perfetto RANKS --all-ranks --annotate OUT.json.gz", true},
	{"perfetto RANKS --all-ranks --annotate OUT.pftrace", true}, {"perfetto NSYS --annotate OUT.json.gz", true},
	{"perfetto LARGE --annotate OUT.json.gz", true},
	{"perfetto RUN --fwd-pass 2 --slice OUT.json.gz --redact all", false},
	{"perfetto RUN --fwd-pass 2 --slice OUT.pftrace", false},
	{"bundle --analysis-file REPORT --include-toc", false},
	{"capture --url http://127.0.0.1:1 --framework sglang --first-index 1 --output-dir DIR --dry-run --format json",
		false},
}

// TestSameBytes runs every program in every format again and again, on one, two
// and eight processors: what it prints, what it writes and its exit code are the
// same each time.
func TestSameBytes(t *testing.T) {
	inputs := sameInputs(t)
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	processors := []int{1, 8, 2}
	for _, d := range documents {
		// Forms that have one writer for all programs are those of the report.
		shown := !strings.HasPrefix(d.args, "report") && slices.ContainsFunc(gate.Formats(),
			func(f gate.Format) bool { return strings.HasSuffix(d.args, "--format "+string(f)) })
		if (d.heavy || shown) && !testdata.Long() {
			continue
		}
		t.Run(d.args, func(t *testing.T) {
			runs := *sameRuns
			if d.heavy {
				runs = len(processors)
			}
			if !testdata.Long() {
				runs = 2
			}
			var first []byte
			for i := range runs {
				p := processors[i%len(processors)]
				runtime.GOMAXPROCS(p)
				got := document(t, d.args, inputs)
				if i == 0 {
					first = got
				} else if !bytes.Equal(got, first) {
					t.Fatalf("run %d, on %d processors: %s", i+1, p, firstDifference(first, got))
				}
			}
			if len(first) == 0 {
				t.Error("nothing was printed or written")
			}
		})
	}
}

// TestEveryFormatIsRunAgain: a format that a program gets joins the table.
func TestEveryFormatIsRunAgain(t *testing.T) {
	for _, c := range []string{"report", "answer", "layers", "breakdown", "light", "triage", "host", "compare",
		"host-compare", "export", "perfetto"} {
		for _, format := range strings.Fields(run(t, "", "__complete", c, "--format", "").Stdout) {
			// one writer for all commands
			found := slices.Contains(gate.Formats(), gate.Format(format)) && c != "report" && c != "compare"
			for _, d := range documents {
				command, _, _ := strings.Cut(d.args, " ")
				// Text is what most programs print where no format is asked for.
				found = found || command == c && (strings.HasSuffix(d.args, "--format "+format) ||
					!strings.Contains(d.args, "--format"))
				found = found || format == "auto"
			}
			if !found {
				t.Errorf("%s --format %s is not run by TestSameBytes", c, format)
			}
		}
	}
}

// document returns everything that one run gives: both streams, the exit code and
// the files that it wrote.
func document(t *testing.T, line string, inputs map[string]string) []byte {
	t.Helper()
	// The same folder each time: documents name what they write.
	dir := filepath.Join(inputs["DIR"], "out")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	args := strings.Fields(line)
	for i, a := range args {
		if path, ok := inputs[a]; ok {
			args[i] = path
		} else if rest, ok := strings.CutPrefix(a, "OUT"); ok {
			args[i] = filepath.Join(dir, "out"+rest)
		} else if strings.HasPrefix(a, "idle=") || strings.HasPrefix(a, "host-caused=") {
			args[i] = strings.Replace(a, "=", " ", 1)
		}
	}
	r := run(t, "", args...)
	if r.Code == 1 || r.Code == 2 {
		t.Fatalf("exit code %d: %s", r.Code, r.Stderr)
	}
	var all bytes.Buffer
	all.WriteByte(byte('0' + r.Code))
	all.WriteString(r.Stdout)
	all.WriteString(r.Stderr)
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(data)
	}
	if strings.Contains(line, "OUT") && len(files) == 0 {
		t.Fatal("no file was written")
	}
	return madeAt.ReplaceAll(all.Bytes(), []byte("Generated: at its time"))
}

// madeAt is when a bundle says that it was made: the one thing of a document that is not from its input.
var madeAt = regexp.MustCompile(`Generated: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC`)

// firstDifference shows where two documents part.
func firstDifference(a, b []byte) string {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	cut := func(s []byte) string { return string(s[max(0, i-60):min(len(s), i+60)]) }
	return "the first run had\n" + cut(a) + "\nthis one has\n" + cut(b)
}

// sameInputs writes the inputs: small ones, and one that is large enough to be
// scanned by several goroutines.
func sameInputs(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	small := gen.Demo()
	small.Arch.Layers = gen.LeadingDense(4, 1)
	small.Passes = append(small.Passes[:2], small.Passes[3:]...)
	generated := func(cfg gen.Config) []byte {
		var b bytes.Buffer
		if err := gen.Write(&b, cfg); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	large := gen.Demo()
	large.OneBlock, large.Size = false, 6<<20
	second := small
	second.Rank, second.Seed = 1, 2
	plain := generated(small)
	ranks := filepath.Dir(write("ranks/1-TP-0.trace.json", plain))
	write("ranks/1-TP-1.trace.json", generated(second))
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	packets, err := pftracegen.Encode(plain, pftracegen.Categories)
	if err != nil {
		t.Fatal(err)
	}
	export := nsysgen.Default(1)
	nsys := filepath.Join(dir, "run.sqlite")
	if _, err := nsysgen.Write(nsys, export); err != nil {
		t.Fatal(err)
	}
	in := map[string]string{
		"DIR": dir, "RUN": write("run.json.gz", packed.Bytes()), "RANKS": ranks, "NSYS": nsys,
		"CONFIG": write("config/config.json", []byte(runConfig)),
		"LARGE":  write("large.json", generated(large)), "PFTRACE": write("run.pftrace", bytes.Join(packets, nil)),
	}
	r := run(t, "", "triage", in["RUN"], "--format", "markdown")
	in["REPORT"] = write("report.md", []byte(r.Stdout))
	return in
}

// runConfig describes the model of the small run.
const runConfig = `{"model_type": "qwen2_moe", "architectures": ["Qwen2MoeForCausalLM"], "num_hidden_layers": 4, "hidden_size": 2048,
"intermediate_size": 5632, "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632, "num_experts": 60, "num_experts_per_tok": 4,
"mlp_only_layers": [0], "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 151936, "torch_dtype": "bfloat16"}`
