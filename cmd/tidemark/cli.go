package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/tidemark/tidemark/internal/obs"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDifferences = 3
)

// cli is what a person types. Every verb has a file of its name, a Run method and a Help method with an example.
type cli struct {
	Dev         devCmd         `cmd:"" help:"Run everything in one process: Kafka, Redis, Tidemark and a demo."`
	Run         runCmd         `cmd:"" help:"Run a node."`
	Gateway     gatewayCmd     `cmd:"" help:"Run a gateway: WebSockets for people's devices."`
	Topics      topicsCmd      `cmd:"" help:"Create the topics, or check them."`
	Emit        emitCmd        `cmd:"" help:"Write events, one JSON object a line, to the topics."`
	Query       queryCmd       `cmd:"" help:"Ask a running node."`
	Replay      replayCmd      `cmd:"" help:"Rebuild stores from the topics."`
	Verify      verifyCmd      `cmd:"" help:"Compare stores and Redis with what the topics say."`
	Reshard     reshardCmd     `cmd:"" help:"Move to another number of partitions, by new topics."`
	Inspect     inspectCmd     `cmd:"" help:"Look into a store, snapshot or topic; nothing is changed."`
	EraseUser   eraseUserCmd   `cmd:"" help:"Make a user disappear, and say what remains where until when."`
	Snapshot    snapshotCmd    `cmd:"" help:"Take, list, check, restore and prune snapshots."`
	Deadletters deadlettersCmd `cmd:"" help:"List bad records, or send them again."`
	Bench       benchCmd       `cmd:"" help:"Measure this machine."`
	Version     versionCmd     `cmd:"" help:"Say what this is."`
}

// app is what the verbs' Run methods are given.
type app struct {
	ctx    context.Context
	name   string // how this program was called
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	build  obs.Build
	given  map[string]bool // flags that stood on the command line, not in the environment
}

// usageError is a wrong command line that only the verb could find.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// errDifferences ends a verb that has printed the differences it found.
var errDifferences = errors.New("differences were found")

const description = `Tidemark turns chat events in Kafka into exact unread counts.

Each flag has an environment variable, TIDEMARK_ and its name: --data-dir is TIDEMARK_DATA_DIR. Lists are separated by
commas. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 differences found.

Try it: ` + "`tidemark dev`" + `, and in another terminal ` + "`tidemark query watch ann`."

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{
		ctx: ctx, name: filepath.Base(args[0]), stdin: stdin, stdout: stdout, stderr: stderr, build: obs.NewBuild(version),
		given: map[string]bool{},
	}
	if strings.ContainsRune(args[0], filepath.Separator) && !filepath.IsAbs(args[0]) {
		a.name = args[0] // examples that we print can be pasted
	}
	helped := false
	var c cli
	parser, err := kong.New(&c,
		kong.Name("tidemark"),
		kong.Description(description),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { helped = true }),
		kong.DefaultEnvars("TIDEMARK"),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
	)
	if err != nil {
		panic(err) // the struct above is wrong, whatever was typed
	}
	if len(args) == 1 {
		parser.Stdout = stderr
		_, _ = parser.Parse([]string{"--help"})
		return exitUsage
	}
	k, err := parser.Parse(args[1:])
	if helped {
		return exitDone
	}
	if err != nil {
		return a.wrongUsage(err)
	}
	for _, p := range k.Path {
		if p.Flag != nil && !p.Resolved {
			a.given[p.Flag.Name] = true
		}
	}
	return a.report(k.Run(a))
}

// wrongUsage says what is wrong with the command line and where the help is.
func (a *app) wrongUsage(err error) int {
	help := a.name + " --help"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			help = node.FullPath() + " --help"
		}
	}
	fmt.Fprintf(a.stderr, "tidemark: %v; `%s` has the usage\n", err, help)
	return exitUsage
}

// report prints a verb's error, if any, and returns the exit code.
func (a *app) report(err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, errDifferences):
		return exitDifferences
	case errors.As(err, &usage):
		fmt.Fprintf(a.stderr, "tidemark: %v\n", err)
		return exitUsage
	case a.ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(a.stderr, "tidemark: interrupted")
		return exitFailed
	}
	fmt.Fprintf(a.stderr, "tidemark: %v\n", err)
	return exitFailed
}

// isTerminal reports whether w is a terminal that understands cursor movements.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
