package capture_test

import (
	"context"
	"flag"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/capture"
	"github.com/llmstrata/strata/internal/testdata"
)

var python = flag.String("python", "", "Python interpreter with PyTorch, for TestTorchServer")

// TestTorchServer captures from a server whose routes drive a real
// torch.profiler (testdata/torch_server.py). The window must hold exactly the
// passes asked for: five prefills, or one pass of the prompt and four decodes.
//
//	go test ./capture -run TorchServer -python /usr/bin/python3
func TestTorchServer(t *testing.T) {
	url := testdata.TorchServer(t, *python, "testdata/torch_server.py")
	res, err := capture.Run(context.Background(), capture.Options{
		URL: url, OutputDir: outDir(t), ArmDelay: -1,
		Decode:   capture.Shape{OutputLen: 64},
		Timeouts: capture.Timeouts{Poll: 5 * time.Millisecond, Stable: 20 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]int
	for _, f := range res.Files() {
		text := string(testdata.ReadFile(t, f))
		got = append(got, [2]int{strings.Count(text, `"step[EXTEND`), strings.Count(text, `"step[DECODE`)})
	}
	if d := cmp.Diff([][2]int{{5, 0}, {1, 4}}, got); d != "" {
		t.Errorf("passes of prefill and decode per trace (-want +got):\n%s", d)
	}
	t.Logf("%s: %v", res.Info.Version, res.Files())
	noLeaks(t)
}
