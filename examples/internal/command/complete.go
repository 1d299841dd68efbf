package command

import (
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/llmstrata/strata/examples/internal/app"
)

// completeCommand is the hidden command that the shells' scripts call with the
// words of the line so far, the last of them being completed.
const completeCommand = "__complete"

// scripts register completion; what can follow is asked of the program, so they
// are never out of date.
var scripts = map[string]string{
	"bash": `_strata() {
  local IFS=$'\n'
  COMPREPLY=($(strata __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
}
complete -o default -F _strata strata
`,
	"zsh": `#compdef strata
_strata() {
  local -a found
  found=("${(@f)$(strata __complete "${(@)words[2,CURRENT]}" 2>/dev/null)}")
  if [[ -n "${found[1]}" ]]; then compadd -- "${found[@]}"; else _files; fi
}
compdef _strata strata
`,
	"fish": `complete -c strata -a '(strata __complete (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`,
	"powershell": `Register-ArgumentCompleter -Native -CommandName strata -ScriptBlock {
  param($word, $ast, $cursor)
  $words = @($ast.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
  if ($word -eq '') { $words += '""' }
  strata __complete @words 2>$null | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_) }
}
`,
}

// completion prints the script of a shell.
func completion(args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 {
		if s, ok := scripts[args[0]]; ok {
			_, err := io.WriteString(stdout, s)
			return exitCode(stderr, err)
		}
		if app.AsksHelp(args) {
			return exitCode(stderr, printed(io.WriteString(stdout, "usage: "+name+" completion bash|zsh|fish|powershell\n")))
		}
	}
	fmt.Fprintf(stderr, "%s completion: name a shell: bash, zsh, fish or powershell; for bash: source <(%s completion "+
		"bash)\n", name, name)
	return app.ExitUsage
}

// complete prints what the last word can become, one a line; nothing where it
// is a file.
func complete(w io.Writer, words []string) error {
	if len(words) == 0 {
		words = []string{""}
	}
	last := words[len(words)-1]
	var found []string
	switch c := find(words[0]); {
	case len(words) == 1:
		for _, c := range commands() {
			found = append(found, c.name)
		}
		found = append(found, extras...)
	case words[0] == explainCommand:
		for _, t := range topics() {
			found = append(found, t.ID)
		}
	case words[0] == completionCommand:
		found = []string{"bash", "fish", "powershell", "zsh"}
	case c != nil:
		p, _ := c.program(words[1 : len(words)-1])
		found = candidates(p, words[len(words)-2], last)
	default:
		found = candidates(find("report").must(), words[len(words)-2], last)
	}
	for _, f := range found {
		if strings.HasPrefix(f, last) {
			if _, err := fmt.Fprintln(w, f); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *command) must() app.Program { p, _ := c.program(nil); return p }

// candidates are the values of the flag before the word, or the flags.
func candidates(p app.Program, before, word string) []string {
	fs := p.FlagSet()
	if f := fs.Lookup(strings.TrimLeft(before, "-")); f != nil && strings.HasPrefix(before, "-") {
		if values := app.Values(f); values != nil {
			return values
		}
		if b, ok := f.Value.(interface{ IsBoolFlag() bool }); !ok || !b.IsBoolFlag() {
			return nil // a file or a number
		}
	}
	if !strings.HasPrefix(word, "-") {
		return nil
	}
	var names []string
	fs.VisitAll(func(f *flag.Flag) { names = append(names, "--"+f.Name) })
	slices.Sort(names)
	return append(names, "--version")
}
