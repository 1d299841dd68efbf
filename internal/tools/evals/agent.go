package main

import (
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

// prompt is what an agent is asked. %[1]s is the question's files, %[2]s the program, %[3]s the skill or nothing.
const prompt = `%[3]sThe profiler trace of an LLM server is in %[1]s. The program strata is at %[2]s.
What costs most time in each step, and how much? If the trace does not tell, or nothing is wrong, say so.
End with one line:
ANSWER: CODE MICROSECONDS_PER_STEP     CODE is the cause, such as host-code, allocation, lock, transfer, launch-call, communication, no-graphs, or an operator
or ANSWER: healthy
or ANSWER: cannot-tell
`

// runAgent asks an agent about every case, without the skill and with it, and says how often it is right.
func runAgent(w io.Writer, bin, command, dir string) error {
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
	for i, with := range []string{"", string(skill) + "\n\n"} {
		counts := map[grade]int{}
		for k := range list {
			e := &list[k]
			args, err := prepare(e, dir, i*len(list)+k)
			if err != nil {
				return err
			}
			file := filepath.Join(dir, "prompt.txt")
			if err := os.WriteFile(file, fmt.Appendf(nil, prompt, strings.Join(args, " "), bin, with),
				0o666); err != nil {
				return err
			}
			line := make([]string, len(words))
			for j, s := range words {
				line[j] = strings.ReplaceAll(s, "{}", file)
			}
			out, err := exec.Command(line[0], line[1:]...).Output()
			if err != nil {
				return fmt.Errorf("%s: %w", command, err)
			}
			g := e.gradeLine(string(out))
			counts[g]++
			fmt.Fprintf(w, "%s, %s: %s\n", e.kind, e.name, g)
		}
		fmt.Fprintf(w, "%s the skill: %d right, %d abstained, %d wrong\n",
			map[bool]string{false: "without", true: "with"}[i == 1], counts[right], counts[abstained], counts[wrong])
	}
	return nil
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
