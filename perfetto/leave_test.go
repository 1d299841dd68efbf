package perfetto_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/llmstrata/strata/internal/testdata"
	"github.com/llmstrata/strata/perfetto"
	"github.com/llmstrata/strata/trace"
	"github.com/llmstrata/strata/trace/event"
)

func allActivities(tr *trace.Trace) []trace.EventID {
	var keep []trace.EventID
	for e := range tr.Events(event.LaneGPU) {
		keep = append(keep, e.ID())
	}
	return keep
}

// TestWhatRemainsIsListed: under every combination of redactions each planted
// secret that is left in the bytes of the slice is in the list of what remains. What cannot hide is not written.
func TestWhatRemainsIsListed(t *testing.T) {
	testdata.ManyInputs(t)
	dir := t.TempDir()
	src := filepath.Join(dir, "t.json")
	if err := os.WriteFile(src, planted(), 0o644); err != nil {
		t.Fatal(err)
	}
	tr := open(t, src)
	secret := regexp.MustCompile(`SECRET[0-9]+TERCES`)
	in := func(data []byte) []string {
		return slices.Compact(slices.Sorted(slices.Values(secret.FindAllString(string(data), -1))))
	}
	texts := len(in(planted()))
	if texts < 2279 {
		t.Errorf("%d texts are planted", texts)
	}
	written, refused, listed, unlisted := 0, 0, 0, 0
	for bits := 1; bits < 16; bits++ {
		hide := perfetto.Redaction{Paths: bits&1 != 0, Names: bits&2 != 0, ModelFiles: bits&4 != 0, Shapes: bits&8 != 0}
		for i, name := range []string{"o.json", "o.json.gz", "o.json.zst"} {
			if !testdata.Long() && bits%3 != i {
				continue
			}
			dst := filepath.Join(dir, name)
			stats, err := perfetto.Slice(context.Background(), tr, allActivities(tr), src, dst,
				perfetto.CopyOptions{Redact: hide})
			if err != nil {
				t.Fatal(err)
			}
			written++
			names := strings.Join(stats.Names, "\n")
			left := in(testdata.ReadFile(t, dst))
			for _, s := range left {
				if strings.Contains(names, s) {
					listed++
					continue
				}
				unlisted++
				t.Errorf("%+v: %s is left in %s and not listed", hide, s, name)
			}
			if hide != everything && len(left) == 0 && !hide.Names {
				t.Errorf("%+v leaves no planted text: it shows nothing", hide)
			}
		}
		dst := filepath.Join(dir, "none.pftrace")
		_, slice := perfetto.Slice(context.Background(), tr, allActivities(tr), src, dst, perfetto.CopyOptions{Redact: hide})
		_, copied := perfetto.Annotate(context.Background(), tr, src, dst+".json", passTrack(tr),
			perfetto.CopyOptions{Redact: hide})
		for what, err := range map[string]error{dst: slice, dst + ".json": copied} {
			if _, lost := os.Stat(what); err == nil || lost == nil {
				t.Errorf("%+v: %s is written though nothing in it is hidden: error %v", hide, filepath.Base(what), err)
			}
			refused++
		}
	}
	all := texts * written
	t.Logf("%d planted texts in each of %d slices, by 15 redactions: of %d, %d are hidden, %d left and listed, %d left "+
		"and "+
		"not listed; %d copies that cannot hide are refused", texts, written, all, all-listed-unlisted, listed, unlisted,
		refused)
}

// leaky is a trace with a token, an environment and names of hosts and people in its values and its events.
const leaky = `{"schemaVersion":1,"deviceProperties":[{"id":0,"name":"NVIDIA H100","secretKey":"x"}],"host_name":"node17.corp","username":"someone",
"metadata":{"env":{"HF_TOKEN":"hf_aB3aB3aB3aB3aB3aB3aB3aB3aB3aB3","HOME":"/home/someone","PATH":"/usr/bin"}},"traceEvents":[
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":1.0,"dur":2.0,"args":{"correlation":5}},
{"ph":"X","cat":"user_annotation","name":"step","pid":1,"tid":1,"ts":1.0,"dur":2.0,"args":{"environ":{"HOME":"/home/someone","PATH":"/x","USER":"someone","MY_API_KEY":"kkkkkkkkkkkkkkkk"},"note":"key sk-a1b2c3d4e5f6g7h8i9j0k1l2m3"}},
{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":2.0,"dur":3.0,"args":{"device":0,"stream":7,"correlation":5}}
],"traceName":"/home/someone/run.json","args":"--api-key kkkkkkkkkkkkkkkk"}`

// TestCopiesLeaveSecretsOut: slices and annotated copies of every form, unless the user wants all.
func TestCopiesLeaveSecretsOut(t *testing.T) {
	dir := t.TempDir()
	src := filepath.Join(dir, "t.json")
	if err := os.WriteFile(src, []byte(leaky), 0o644); err != nil {
		t.Fatal(err)
	}
	tr := open(t, src)
	secrets := []string{"aB3aB3", "someone", "node17", "kkkkkkkk", "secretKey", "a1b2c3"}
	for _, name := range []string{"o.json", "o.json.gz", "o.json.zst", "o.pftrace"} {
		for what, write := range map[string]func(dst string, o perfetto.CopyOptions) ([]string, error){
			"slice": func(dst string, o perfetto.CopyOptions) ([]string, error) {
				s, err := perfetto.Slice(context.Background(), tr, allActivities(tr), src, dst, o)
				return s.Removed, err
			},
			"annotate": func(dst string, o perfetto.CopyOptions) ([]string, error) {
				s, err := perfetto.Annotate(context.Background(), tr, src, dst, passTrack(tr), o)
				return s.Removed, err
			},
		} {
			dst := filepath.Join(dir, what+name)
			removed, err := write(dst, perfetto.CopyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			text := testdata.ReadFile(t, dst)
			for _, s := range secrets {
				if bytes.Contains(text, []byte(s)) {
					t.Errorf("%s: %s holds %s", what, name, s)
				}
			}
			if strings.HasSuffix(name, ".pftrace") {
				continue // made of what was loaded, which has no such values
			}
			for _, want := range []string{"host_name", "username", "metadata", "traceName", "args", "deviceProperties",
				"args of 1 event (environments)", "1 × API key"} {
				if !slices.Contains(removed, want) {
					t.Errorf("%s: %s: %q is not named among what was left out: %q", what, name, want, removed)
				}
			}
			if !bytes.Contains(text, []byte("NVIDIA H100")) {
				t.Errorf("%s: %s lacks the GPU's name", what, name)
			}
			removed, err = write(dst, perfetto.CopyOptions{KeepMetadata: true})
			if err != nil || len(removed) > 0 {
				t.Errorf("%s: with all metadata %q was removed, %v", what, removed, err)
			}
			text = testdata.ReadFile(t, dst)
			for _, s := range secrets {
				if !bytes.Contains(text, []byte(s)) {
					t.Errorf("%s: %s lacks %s, which was to be kept", what, name, s)
				}
			}
		}
	}
}
