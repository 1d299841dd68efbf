package capture

import (
	"flag"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/internal/testdata"
)

var python = flag.String("python", "", "Python interpreter with PyTorch, for TestTorchIsValid")

// TestTorchIsValid captures from a server whose routes drive a real
// torch.profiler on the CPU: the traces, read by the library, are VALID.
//
//	go test ./examples/internal/programs/capture -run TorchIsValid -python /usr/bin/python3
func TestTorchIsValid(t *testing.T) {
	url := testdata.TorchServer(t, *python, "../../../../capture/testdata/torch_server.py")
	got := apptest.MustRun(t, captureProgram(), append(apptest.FastLive, "--url", url,
		"--output-dir", apptest.ProfileFolder(t), "--activities", "CPU", "--decode-output-len", "32", "--prefill-input-len",
		"256")...)
	t.Log(got.Stdout)
	if !strings.HasSuffix(got.Stdout, "\nVerdict: VALID\n") {
		t.Errorf("not valid:\n%s", got.Stdout)
	}
}
