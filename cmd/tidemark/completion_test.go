package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// completed are the words that fit at the end of a line.
func completed(t *testing.T, words ...string) (list []string) {
	t.Helper()
	for line := range strings.Lines(ok(t, "", append([]string{"complete", "--"}, words...)...)) {
		word, _, _ := strings.Cut(line, "\t")
		list = append(list, strings.TrimSpace(word))
	}
	return list
}

func TestCompletion(t *testing.T) {
	for _, c := range []struct{ line, want string }{
		{"ver", "verify version"},
		{"query re", "readers receipts"},
		{"query receipts --thread-", ""},
		{"run --log-", "--log-format --log-level"},
		{"run --log-format ", "text json"},
		{"run --log-format = j", "json"}, // as bash cuts it
		{"run --log-format=j", "--log-format=json"},
		{"run --insecure --log-level e", "error"},
		{"run --data-dir ", ""}, // the shell completes files
		{"query --addr http://x unread --js", "--json"},
		{"completion z", "zsh"},
		{"comple", "completion"}, // complete is for scripts
		{"token ann --scope a", "admin"},
		{"nonsense --lo", ""},
	} {
		if got := strings.Join(completed(t, strings.Split(c.line, " ")...), " "); got != c.want {
			t.Errorf("%q is completed with %q, want %q", c.line, got, c.want)
		}
	}
	if all := completed(t, ""); !slices.Contains(all, "run") || slices.Contains(all, "complete") || len(all) < 15 {
		t.Errorf("all commands are %v", all)
	}
	if all := completed(t, `""`); !slices.Contains(all, "run") { // as PowerShell passes an empty word
		t.Errorf("all commands are %v", all)
	}
}

// A real bash completes with the script, and so do zsh and fish if they are here.
func TestCompletionInShells(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "script")
	write := func(name, text string, mode os.FileMode) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	// A command of this name tells what it was asked, and offers two words.
	write(filepath.Join(dir, "tidemark"), "#!/bin/sh\nprintf '%s|' \"$@\" >> "+dir+"/asked\nprintf 'unread\\tOne user\\nuser\\tx\\n'\n", 0o755)
	for shell, program := range map[string][]string{
		"bash": {"bash", "-c", "source " + script + `; COMP_WORDS=(tidemark query unr); COMP_CWORD=2; _tidemark; echo "${COMPREPLY[@]}"`},
		"zsh":  {"zsh", "-fc", "compdef() { :; }; source " + script + `; _describe() { print -rl -- ${(P)2}; }; words=(tidemark query unr); CURRENT=3; _tidemark`},
		"fish": {"fish", "--no-config", "-c", "source " + script + `; complete -C "tidemark query unr"`},
	} {
		write(script, ok(t, "", "completion", shell), 0o644)
		if _, err := exec.LookPath(program[0]); err != nil && shell != "bash" {
			continue
		}
		cmd := exec.Command(program[0], program[1:]...)
		cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v: %s", shell, err, out)
		}
		want := map[string]string{"bash": "unread user\n", "zsh": "unread:One user\nuser:x\n", "fish": "unread\tOne user\n"}[shell]
		if string(out) != want {
			t.Errorf("%s offers %q, want %q", shell, out, want)
		}
	}
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	if rest := strings.ReplaceAll(string(asked), "complete|--|query|unr|", ""); err != nil || len(asked) == 0 || rest != "" {
		t.Errorf("the shells asked %q, %v", asked, err)
	}
	if script := ok(t, "", "completion", "powershell"); !strings.Contains(script, "Register-ArgumentCompleter -Native -CommandName tidemark") {
		t.Error(script)
	}
	if r := tidemark(t, "", "completion", "tcsh"); r.code != exitUsage || !strings.Contains(r.errout, "powershell") {
		t.Errorf("%+v", r)
	}
}

func TestHelpVerbAndVersionFlag(t *testing.T) {
	for _, c := range [][]string{{"query", "unread"}, {"query"}, {"run"}, {}} {
		if got, want := ok(t, "", append([]string{"help"}, c...)...), ok(t, "", append(slices.Clone(c), "--help")...); got != want {
			t.Errorf("help %v prints\n%s, --help\n%s", c, got, want)
		}
	}
	if r := tidemark(t, "", "help", "qury"); r.code != exitUsage || !strings.Contains(r.errout, "query") || r.out != "" {
		t.Errorf("%+v", r)
	}
	if got, want := ok(t, "", "--version"), ok(t, "", "version"); got != want {
		t.Errorf("--version prints %q, version %q", got, want)
	}
}
