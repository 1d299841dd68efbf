package testdata

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TorchServer starts a script that serves a real torch.profiler and prints its
// port, and returns its address. Without an interpreter the test is skipped; the
// server ends with the test.
func TorchServer(t *testing.T, python, script string) (address string) {
	t.Helper()
	if python == "" {
		t.Skip("no -python given")
	}
	cmd := exec.Command(python, "-W", "ignore", script)
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		cmd.Wait()
	})
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	return "127.0.0.1:" + strings.TrimSpace(port)
}
