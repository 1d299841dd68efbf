package command_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/llmstrata/strata/examples/internal/command"
	"github.com/llmstrata/strata/internal/testdata"
)

// asProgram is the variable that makes this test binary strata.
const asProgram = "STRATA_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		command.Main()
		return
	}
	os.Exit(m.Run())
}

// TestActionScript runs the script of the GitHub action with a gh that writes down what it is asked: the report is in
// the step summary and in one comment, which a second run replaces, and the exit code is that of the comparison.
func TestActionScript(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("bash is not installed")
	}
	root, dir := testdata.Root(t), t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	strata := filepath.Join(dir, "strata")
	old, target := testdata.Shared(t, "traces/nsys/synthetic-trtllm-baseline.sqlite"),
		testdata.Shared(t, "traces/nsys/synthetic-trtllm-target.sqlite")
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write("strata", "#!/bin/sh\nexec env "+asProgram+"=1 "+self+" \"$@\"\n")
	write("gh", "#!/bin/sh\necho \"$*\" >> "+dir+"/asked\ncase \"$*\" in *--jq*) cat "+dir+"/old;; esac\n")
	for _, c := range []struct {
		name, trace, comment, old, asked string
		code                             []int
	}{
		{"nothing changed", old, "true", "", "api repos/o/r/issues/7/comments -F body=@", []int{0, 4}},
		{"slower", target, "true", "12\n", "api -X PATCH repos/o/r/issues/comments/12 -F body=@", []int{0, 3, 4}},
		{"no comment", old, "false", "", "", []int{0, 4}},
		{"no trace", filepath.Join(dir, "absent"), "true", "", "", []int{1}},
	} {
		write("old", c.old)
		write("asked", "")
		write("summary", "")
		write("output", "")
		cmd := exec.Command(bash, filepath.Join(root, "examples", "action", "compare.sh"))
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "STRATA="+strata, "TRACE="+c.trace,
			"BASELINE="+old, "FAIL_ON=3%", "COMMENT="+c.comment, "PULL_REQUEST=7",
			"GITHUB_REPOSITORY=o/r", "GITHUB_STEP_SUMMARY="+filepath.Join(dir, "summary"),
			"GITHUB_OUTPUT="+filepath.Join(dir, "output"), "RUNNER_TEMP="+dir)
		out, _ := cmd.CombinedOutput()
		code := cmd.ProcessState.ExitCode()
		found := false
		for _, want := range c.code {
			found = found || code == want
		}
		if !found {
			t.Errorf("%s: exit code %d: %s", c.name, code, out)
		}
		asked, summary := string(testdata.ReadFile(t, filepath.Join(dir, "asked"))),
			string(testdata.ReadFile(t, filepath.Join(dir, "summary")))
		if c.asked == "" && asked != "" || !strings.Contains(asked, c.asked) {
			t.Errorf("%s: gh was asked %q, want %q", c.name, asked, c.asked)
		}
		if ok := strings.HasPrefix(summary, "<!-- strata compare -->\n"); ok != (code != 1) {
			t.Errorf("%s: the summary is %.200q", c.name, summary)
		}
	}
}
