package command

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/llmstrata/strata/docs/skill"
	"github.com/llmstrata/strata/examples/internal/app"
	"github.com/llmstrata/strata/internal/atomicfile"
)

// skillFolders are where coding agents look for skills, below a project or a home folder.
var skillFolders = []string{".agents/skills", ".claude/skills"}

const flagInstall = "--install"

const skillUsage = "usage: " + name + " skill [--install DIR]\n" +
	"Prints the skill for coding agents, or copies it below DIR, a project's or a home folder:\n" +
	"DIR/.agents/skills/strata/SKILL.md and DIR/.claude/skills/strata/SKILL.md.\n" +
	"A file there of another skill is not replaced.\n"

// installSkill prints the skill for coding agents, or copies it into the folders where they look.
func installSkill(args []string, stdout, stderr io.Writer) int {
	dir := ""
	switch {
	case len(args) == 0:
		return exitCode(stderr, printed(io.WriteString(stdout, skill.Text())))
	case len(args) == 1 && app.AsksHelp(args):
		return exitCode(stderr, printed(io.WriteString(stdout, skillUsage)))
	default:
		if rest, ok := strings.CutPrefix(strings.Join(args, "="), flagInstall+"="); ok && len(args) <= 2 {
			dir = rest
		}
	}
	if dir == "" {
		fmt.Fprint(stderr, skillUsage)
		return app.ExitUsage
	}
	for _, f := range skillFolders {
		path := filepath.Join(dir, filepath.FromSlash(f), name, "SKILL.md")
		if err := writeSkill(path); err != nil {
			return exitCode(stderr, err)
		}
		fmt.Fprintln(stdout, path)
	}
	return app.ExitOK
}

// writeSkill writes the skill to path unless another one is there.
func writeSkill(path string) error {
	old, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !strings.HasPrefix(string(old), "---\nname: "+name+"\n"):
		return fmt.Errorf("%s is of another skill; it is not replaced", path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return atomicfile.Write(path, 0o666, func(w io.Writer) error { return printed(io.WriteString(w, skill.Text())) })
}

func printed(_ int, err error) error { return err }
