package capture_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"flag"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/llmstrata/strata/capture"
)

var python = flag.String("python", "", "Python interpreter with PyTorch, for TestTorchServer")

// TestTorchServer captures from a server whose routes drive a real
// torch.profiler (testdata/torch_server.py). The window must hold exactly the
// passes asked for: five prefills, or one pass of the prompt and four decodes.
//
//	go test ./capture -run TorchServer -python /usr/bin/python3
func TestTorchServer(t *testing.T) {
	if *python == "" {
		t.Skip("no -python given")
	}
	cmd := exec.Command(*python, "-W", "ignore", "testdata/torch_server.py")
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
	res, err := capture.Run(context.Background(), capture.Options{
		URL: "127.0.0.1:" + strings.TrimSpace(port), OutputDir: outDir(t), ArmDelay: -1,
		Decode: capture.Shape{OutputLen: 64},
		Poll:   capture.Poll{Interval: 5 * time.Millisecond, StableFor: 20 * time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got [][2]int
	for _, f := range res.Files() {
		text := unpack(t, f)
		got = append(got, [2]int{strings.Count(text, `"step[EXTEND`), strings.Count(text, `"step[DECODE`)})
	}
	if d := cmp.Diff([][2]int{{5, 0}, {1, 4}}, got); d != "" {
		t.Errorf("passes of prefill and decode per trace (-want +got):\n%s", d)
	}
	t.Logf("%s: %v", res.Info.Version, res.Files())
	noLeaks(t)
}

// unpack reads a gzip file.
func unpack(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
