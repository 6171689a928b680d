package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish,powershell" help:"bash, zsh, fish or powershell."`
}

func (completionCmd) Help() string {
	return `
Prints a script that makes the shell complete the commands, flags and values of tidemark. The script calls tidemark for
completions, so an upgrade of tidemark needs no new script.

Example:

    tidemark completion bash > /etc/bash_completion.d/tidemark
    tidemark completion zsh > "${fpath[1]}/_tidemark"
    tidemark completion fish > ~/.config/fish/completions/tidemark.fish
    tidemark completion powershell >> $PROFILE`
}

// Run prints the script.
func (c *completionCmd) Run(a *verbs.App) error {
	_, err := fmt.Fprint(a.Stdout, completionScripts[c.Shell])
	return err
}

// completionScripts call `tidemark complete` with the words of the line up to the cursor. If it
// prints nothing, the shell completes file names.
var completionScripts = map[string]string{
	"bash": `# bash completion of tidemark
_tidemark() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("${line%%$'\t'*}")
    done < <(tidemark complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _tidemark tidemark
`,
	"zsh": `#compdef tidemark
_tidemark() {
    local line
    local -a found
    while IFS= read -r line; do
        line=${line//:/\\:}
        found+=("${line/$'\t'/:}")
    done < <(tidemark complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
    if (( ${#found} )); then
        _describe tidemark found
    else
        _files
    fi
}
compdef _tidemark tidemark
`,
	"fish": `# fish completion of tidemark
function __tidemark_complete
    set -l words (commandline -opc) (commandline -ct)
    tidemark complete -- $words[2..-1] 2>/dev/null
end
complete -c tidemark -a '(__tidemark_complete)'
`,
	"powershell": `# PowerShell completion of tidemark
Register-ArgumentCompleter -Native -CommandName tidemark -ScriptBlock {
    param($wordToComplete, $commandAst, $cursorPosition)
    $words = @($commandAst.CommandElements | Select-Object -Skip 1 | ForEach-Object { $_.ToString() })
    if ($wordToComplete -eq '') { $words += '""' }
    tidemark complete '--' @words 2>$null | ForEach-Object {
        $name, $help = $_ -split [char]9, 2
        if (-not $help) { $help = $name }
        [System.Management.Automation.CompletionResult]::new($name, $name, 'ParameterValue', $help)
    }
}
`,
}

// completeCmd is called by the scripts.
type completeCmd struct {
	Words []string `arg:"" optional:"" passthrough:"" help:"The words after the command's name; the last one may be incomplete."`
}

func (completeCmd) Help() string {
	return `
Example:

    tidemark complete -- query unr`
}

// Run prints a line for each word that fits, with its help behind a tab.
func (c *completeCmd) Run(a *verbs.App, k *kong.Kong) error {
	words := c.Words
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	last := len(words) - 1
	if words[last] == `""` { // PowerShell has to pass an empty word so
		words[last] = ""
	}
	for _, found := range completions(k.Model, words[:last], words[last]) {
		if _, err := fmt.Fprintf(a.Stdout, "%s\t%s\n", found.word, found.help); err != nil {
			return err
		}
	}
	return nil
}

// candidate is a possible word at the cursor.
type candidate struct{ word, help string }

// completions returns the possible words in the place of typed, after the words before it.
func completions(app *kong.Application, before []string, typed string) (list []candidate) {
	node := app.Node
	var flag *kong.Flag // the next word is its value
	for _, word := range before {
		switch {
		case word == "=": // bash splits it off as a word
		case flag != nil:
			flag = nil
		case strings.HasPrefix(word, "-"):
			if f := flagOf(node, word); f != nil && !f.IsBool() {
				flag = f
			}
		default:
			for _, child := range node.Children {
				if child.Name == word {
					node = child
				}
			}
		}
	}
	offer := func(word, help string) {
		if strings.HasPrefix(word, typed) {
			help, _, _ = strings.Cut(help, "\n")
			list = append(list, candidate{word, help})
		}
	}
	switch name, _, is := strings.Cut(typed, "="); {
	case flag != nil:
		typed = strings.TrimPrefix(typed, "=")
		for _, value := range choices(flag.Value) {
			offer(value, "")
		}
	case strings.HasPrefix(typed, "-") && is:
		if f := flagOf(node, name); f != nil {
			for _, value := range choices(f.Value) {
				offer(name+"="+value, "")
			}
		}
	case strings.HasPrefix(typed, "-"):
		for _, f := range flagsOf(node) {
			offer("--"+f.Name, f.Help)
		}
	default:
		for _, child := range node.Children {
			if !child.Hidden {
				offer(child.Name, child.Help)
			}
		}
		for _, p := range node.Positional {
			for _, value := range choices(p) {
				offer(value, "")
			}
		}
	}
	return list
}

// choices are the allowed values, none if all are allowed. The values of a context are the user's
// own.
func choices(v *kong.Value) []string {
	if v.Name == "context" {
		all, _ := verbs.LoadContexts() // an unreadable file offers none
		return slices.Sorted(maps.Keys(all.Named))
	}
	if v.Enum == "" {
		return nil
	}
	return v.EnumSlice()
}

// flagsOf returns the flags of a command and of the commands above it, by name.
func flagsOf(node *kong.Node) (list []*kong.Flag) {
	for _, group := range node.AllFlags(true) {
		list = append(list, group...)
	}
	slices.SortFunc(list, func(a, b *kong.Flag) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

func flagOf(node *kong.Node, word string) *kong.Flag {
	for _, f := range flagsOf(node) {
		if word == "--"+f.Name {
			return f
		}
	}
	return nil
}
