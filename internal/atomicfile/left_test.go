package atomicfile_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/llmstrata/strata/internal/atomicfile"
)

// TestMain runs the writer that TestKilledWriterLeavesNothing kills.
func TestMain(m *testing.M) {
	if path := os.Getenv("STRATA_TEST_WRITE"); path != "" {
		defer atomicfile.Guard()()
		f, err := atomicfile.Create(path, 0o600)
		if err == nil {
			_, err = f.Write(make([]byte, 1<<20))
		}
		dir, derr := os.MkdirTemp(filepath.Dir(path), "strata-demo-")
		atomicfile.Temporary(dir)
		fmt.Println(err, derr)
		_, _ = os.Stdin.Read(make([]byte, 1)) // until it is killed; a blocked select is a deadlock, which ends it
	}
	os.Exit(m.Run())
}

// TestKilledWriterLeavesNothing: what a program that was killed with SIGKILL was
// writing is gone once any other one has started, wherever that writes; what a
// running one writes stays, and so does what is no temporary file.
func TestKilledWriterLeavesNothing(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "plan9" || runtime.GOOS == "solaris" {
		t.Skip("SKIPPED, NOT CHECKED: files are not locked on " + runtime.GOOS)
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	dir := t.TempDir()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "STRATA_TEST_WRITE="+filepath.Join(dir, "out.json"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "<nil> <nil>\n" {
		t.Fatalf("the writer says %q, %v", line, err)
	}
	left := func() int {
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	atomicfile.Guard()() // another program, while it runs
	if n := left(); n != 2 {
		t.Errorf("%d temporary files of a running program, want 2", n)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // killed
	keep := filepath.Join(dir, "precious.txt")
	if err := os.WriteFile(keep, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	release := atomicfile.Guard()
	atomicfile.Temporary(keep) // noted by mistake
	release()
	atomicfile.Guard()()
	if _, err := os.Stat(keep); err != nil || left() != 1 {
		t.Errorf("%d files are left, %v", left(), err)
	}
}

// TestStartingProgramsLeaveRunningOnesAlone: programs that start while another one writes do not take its temporary
// file for one of a killed program.
func TestStartingProgramsLeaveRunningOnesAlone(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	defer atomicfile.Guard()()
	stop, stopped := make(chan bool), make(chan bool)
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				atomicfile.RemoveKilled()
			}
		}
	}()
	path := filepath.Join(t.TempDir(), "out.txt")
	for i := range 500 {
		f, err := atomicfile.Create(path, 0o600)
		if err == nil {
			err = f.Finish(nil)
		}
		if err != nil {
			t.Fatalf("file %d: %v", i, err)
		}
	}
	close(stop)
	<-stopped
}
