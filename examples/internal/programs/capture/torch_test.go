package capture

import (
	"bufio"
	"flag"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/apptest"
	"github.com/llmstrata/strata/examples/internal/livetest"
)

var python = flag.String("python", "", "Python interpreter with PyTorch, for TestTorchIsValid")

// TestTorchIsValid captures from a server whose routes drive a real
// torch.profiler on the CPU: the traces, read by the library, are VALID.
//
//	go test ./examples/internal/programs/capture -run TorchIsValid -python /usr/bin/python3
func TestTorchIsValid(t *testing.T) {
	if *python == "" {
		t.Skip("no -python given")
	}
	cmd := exec.Command(*python, "-W", "ignore", "../../../../capture/testdata/torch_server.py")
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Kill()
		cmd.Wait()
	}()
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	got := apptest.MustRun(t, captureProgram(), append(livetest.Fast, "--url", "127.0.0.1:"+strings.TrimSpace(port),
		"--output-dir", livetest.Folder(t), "--activities", "CPU", "--decode-output-len", "32", "--prefill-input-len", "256")...)
	t.Log(got.Stdout)
	if !strings.HasSuffix(got.Stdout, "\nVALID\n") {
		t.Errorf("not valid:\n%s", got.Stdout)
	}
}
