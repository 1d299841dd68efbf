package main

import (
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// prompt is what an agent is asked. %[1]s says which files there are, %[2]s the program, %[3]s the skill or nothing,
// %[4]s what is asked.
const prompt = `%[3]s%[1]s. The program strata is at %[2]s.
%[4]s If the trace does not show it, or nothing is wrong, say so.
End with one line:
ANSWER: CODE MICROSECONDS_PER_STEP     CODE is the cause, such as host-code, allocation, lock, transfer, launch-call, communication, no-graphs, or an operator
or ANSWER: healthy
or ANSWER: cannot-tell
`

// asked is what an agent is asked about the files that args of strata answer name.
func (e *eval) asked(args []string) (files, question string) {
	after, before, two := strings.Cut(strings.Join(args, " "), " --against ")
	switch {
	case two:
		return fmt.Sprintf("The profiler trace of an LLM server is in %s, that of the run before in %s", after, before),
			"What became slower since the run before, and by how much in each step?"
	case e.question == "ranks":
		return "The profiler traces of the ranks of an LLM server are in " + after,
			"What keeps the ranks waiting, and how long in each step?"
	}
	return "The profiler trace of an LLM server is in " + after, "What costs most time in each step, and how much?"
}

// runAgent asks an agent about every n-th case, without the skill and with it, and says how often it is right. An
// agent that fails abstains.
func runAgent(w io.Writer, bin, command, dir string, every int) error {
	skill, err := exec.Command(bin, "skill").Output()
	if err != nil {
		return err
	}
	words := strings.Fields(command)
	if !slices.ContainsFunc(words, func(s string) bool { return strings.Contains(s, "{}") }) {
		return fmt.Errorf("-agent %q: {} is missing, where the file with the prompt goes", command)
	}
	list, err := evals()
	if err != nil {
		return err
	}
	if every < 1 {
		return fmt.Errorf("-every %d: want 1 or more", every)
	}
	for i, with := range []string{"", string(skill) + "\n\n"} {
		counts := map[grade]int{}
		for k := 0; k < len(list); k += every {
			e := &list[k]
			args, err := prepare(e, dir, i*len(list)+k)
			if err != nil {
				return err
			}
			file := filepath.Join(dir, "prompt.txt")
			files, question := e.asked(args)
			if err := os.WriteFile(file, fmt.Appendf(nil, prompt, files, bin, with, question), 0o666); err != nil {
				return err
			}
			line := make([]string, len(words))
			for j, s := range words {
				line[j] = strings.ReplaceAll(s, "{}", file)
			}
			out, err := exec.Command(line[0], line[1:]...).Output()
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return fmt.Errorf("%s: %w", command, err)
			}
			g, note := abstained, ""
			if err == nil {
				g = e.gradeLine(string(out))
			} else {
				note = fmt.Sprintf(" (%v: %s)", err, firstLine(exit.Stderr))
			}
			counts[g]++
			fmt.Fprintf(w, "%s, %s: %s%s\n", e.kind, e.name, g, note)
		}
		fmt.Fprintf(w, "%s the skill: %d right, %d abstained, %d wrong\n",
			map[bool]string{false: "without", true: "with"}[i == 1], counts[right], counts[abstained], counts[wrong])
	}
	return nil
}

func firstLine(text []byte) string {
	line, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
	return line
}

// gradeLine grades the last line of an agent's answer.
func (e *eval) gradeLine(text string) grade {
	i := strings.LastIndex(text, "ANSWER:")
	if i < 0 {
		return abstained
	}
	words := strings.Fields(strings.SplitN(text[i+len("ANSWER:"):], "\n", 2)[0])
	says := ""
	if len(words) > 0 {
		says = words[0]
	}
	none := says == "" || says == "healthy" || says == "cannot-tell"
	switch {
	case e.abstain && none:
		return right
	case none:
		return abstained
	case e.abstain || !slices.Contains(e.codes, says):
		return wrong
	case e.perStep == 0:
		return right
	}
	if len(words) > 1 {
		us, err := strconv.ParseFloat(words[1], 64)
		got := time.Duration(us * float64(time.Microsecond))
		if err == nil && math.Abs(float64(got-e.perStep)) <= tolerance*float64(e.perStep) {
			return right
		}
	}
	return wrong
}
