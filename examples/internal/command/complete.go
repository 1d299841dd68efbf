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

const completionUsage = "usage: " + name + " completion bash|zsh|fish|powershell\n" +
	"Prints a script that completes commands, flags and their values. To load it in every shell:\n" +
	"  bash        echo 'source <(" + name + " completion bash)' >> ~/.bashrc\n" +
	"  zsh         echo 'source <(" + name + " completion zsh)' >> ~/.zshrc    # after compinit\n" +
	"  fish        " + name + " completion fish > ~/.config/fish/completions/" + name + ".fish\n" +
	"  powershell  " + name + " completion powershell >> $PROFILE\n"

// completion prints the script of a shell.
func completion(args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 {
		if s, ok := scripts[args[0]]; ok {
			_, err := io.WriteString(stdout, s)
			return exitCode(stderr, err)
		}
		if app.AsksHelp(args) {
			return exitCode(stderr, printed(io.WriteString(stdout, completionUsage)))
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
	words = joined(words)
	at := len(words) - 1
	last, shown := words[at], ""
	if flag, value, ok := strings.Cut(last, "="); ok && strings.HasPrefix(flag, "-") {
		shown, last = flag+"=", value
		words = append(words[:at:at], flag, value)
	}
	var found []string
	switch c := find(words[0]); {
	case len(words) == 1:
		found = commandNames()
	case c != nil:
		p, _ := c.program(words[1 : len(words)-1])
		if found = candidates(p, words[len(words)-2], last); len(words) == 2 {
			found = append(found, c.subs...)
		}
	case slices.Contains(extras, words[0]):
		found = afterExtra(words[0], words[len(words)-2])
	default:
		found = candidates(find("report").must(), words[len(words)-2], last)
	}
	for _, f := range found {
		if strings.HasPrefix(f, last) {
			if _, err := fmt.Fprintln(w, shown+f); err != nil {
				return err
			}
		}
	}
	return nil
}

// joined puts a flag and its value in two words where bash cut them at the equals sign.
func joined(words []string) []string {
	var out []string
	for i, w := range words {
		switch {
		case w == "=" && i > 0 && strings.HasPrefix(words[i-1], "--"):
			if i == len(words)-1 {
				out = append(out, "")
			}
		default:
			out = append(out, w)
		}
	}
	return out
}

func commandNames() (names []string) {
	for _, c := range commands() {
		names = append(names, c.name)
	}
	return append(names, extras...)
}

// afterExtra is what can follow a command that is no program; before is the word before.
func afterExtra(extra, before string) (found []string) {
	switch extra {
	case explainCommand:
		if before == flagFormat {
			return []string{string(app.Text), string(app.Markdown), string(app.JSON)}
		}
		for _, t := range topics() {
			found = append(found, t.ID)
		}
		return append(found, allRules, flagFormat)
	case completionCommand:
		return []string{"bash", "fish", "powershell", "zsh"}
	case schemaCommand:
		for _, s := range DocumentSchemas() {
			found = append(found, strings.TrimPrefix(s.Name, name+"."))
		}
	case skillCommand:
		if before == skillCommand {
			return []string{flagInstall}
		}
	case helpCommand:
		return commandNames()
	}
	return found
}

func (c *command) must() app.Program { p, _ := c.program(nil); return p }

// candidates are the values of the flag before the word, or the flags.
func candidates(p app.Program, before, word string) []string {
	fs := p.FlagSet()
	if f := fs.Lookup(strings.TrimLeft(before, "-")); f != nil && strings.HasPrefix(before, "-") {
		if values := app.Values(f); values != nil {
			return values
		}
		if kind, _ := flag.UnquoteUsage(f); strings.Contains(kind, "|") && kind == strings.ToLower(kind) {
			return strings.Split(kind, "|") // none|tokens, and not FILE|DIR
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
