package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/cmd/internal/verbs/adopt"
	"github.com/tidemark/tidemark/cmd/internal/verbs/conform"
	"github.com/tidemark/tidemark/cmd/internal/verbs/contexts"
	"github.com/tidemark/tidemark/cmd/internal/verbs/deadletters"
	"github.com/tidemark/tidemark/cmd/internal/verbs/erasing"
	"github.com/tidemark/tidemark/cmd/internal/verbs/inspect"
	"github.com/tidemark/tidemark/cmd/internal/verbs/query"
	"github.com/tidemark/tidemark/cmd/internal/verbs/snapshots"
	"github.com/tidemark/tidemark/cmd/internal/verbs/topics"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/obs/codes"
	"github.com/tidemark/tidemark/internal/term"
)

// Exit codes.
const (
	exitDone        = 0
	exitFailed      = 1
	exitUsage       = 2
	exitDifferences = 3
)

// cli is the command line. Every verb has a file of its name, a Run method, and a Help method with
// an example.
type cli struct {
	Dev         devCmd           `cmd:"" help:"Run everything in one process: Kafka, Redis, Tidemark and a demo."`
	Run         runCmd           `cmd:"" help:"Run a node."`
	Gateway     gatewayCmd       `cmd:"" help:"Run a gateway: WebSockets for people's devices."`
	Topics      topics.Cmd       `cmd:"" help:"Create the topics, or check them."`
	Emit        emitCmd          `cmd:"" help:"Write events, one JSON object per line, to the topics."`
	Import      adopt.Import     `cmd:"" help:"Write the history of another chat product as events."`
	Bridge      adopt.Bridge     `cmd:"" help:"Follow another chat product's database, and write its changes as events."`
	Compare     adopt.Compare    `cmd:"" help:"Compare another chat product's numbers with Tidemark's, and explain the differences."`
	Heal        adopt.Heal       `cmd:"" help:"Print statements that correct another chat product's numbers."`
	DemoSource  adopt.DemoSource `cmd:"" help:"Make a small source of another chat product, to try import and compare."`
	Query       query.Cmd        `cmd:"" help:"Query a running node."`
	Diff        diffCmd          `cmd:"" help:"Show what changed for a user between two moments, and which records changed it."`
	Replay      replayCmd        `cmd:"" help:"Rebuild stores from the topics."`
	Verify      verifyCmd        `cmd:"" help:"Compare stores and Redis with a rebuild from the topics."`
	Reshard     reshardCmd       `cmd:"" help:"Move to new topics with another number of partitions."`
	Inspect     inspect.Cmd      `cmd:"" help:"Look into a store, snapshot or topic without changing it."`
	EraseUser   erasing.Cmd      `cmd:"" help:"Erase a user, and list what remains, where, and until when."`
	Snapshot    snapshots.Cmd    `cmd:"" help:"Take, list, check, restore and prune snapshots."`
	Deadletters deadletters.Cmd  `cmd:"" help:"List bad records, or send them again."`
	Conformance conform.Cmd      `cmd:"" help:"Run stories against a service of the query API, and print where its answers differ."`
	Token       tokenCmd         `cmd:"" help:"Make a token for a caller of a node with keys."`
	Context     contexts.Cmd     `cmd:"" help:"Name nodes, and choose the one to query."`
	Config      configCmd        `cmd:"" help:"Check the configuration of a node before it starts."`
	LogLevel    logLevelCmd      `cmd:"" help:"Print or change the log level of a running node."`
	Bench       benchCmd         `cmd:"" help:"Measure this machine."`
	ExplainCode explainCodeCmd   `cmd:"" help:"Print the runbook's section for a code, such as TM017."`
	Completion  completionCmd    `cmd:"" help:"Print a script that completes commands in a shell."`
	Complete    completeCmd      `cmd:"" hidden:"" help:"Print completions of the word at the cursor."`
	Help        helpCmd          `cmd:"" help:"Print the help of a command."`
	Version     versionCmd       `cmd:"" help:"Print the version."`

	ShowVersion kong.VersionFlag `name:"version" env:"-" help:"Print the version."`
}

const description = `Tidemark turns chat events in Kafka into exact unread counts.

Each flag has an environment variable, TIDEMARK_ and its name: --data-dir is TIDEMARK_DATA_DIR. The exceptions are --yes and flags
that select what is destroyed. Lists are separated by commas. Exit codes: 0 done, 1 failed, 2 wrong usage, 3 differences found.

Try it: ` + "`tidemark dev`" + `, and in another terminal ` + "`tidemark query watch ann`."

// execute runs one command line and returns the exit code.
func execute(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &verbs.App{
		Ctx: ctx, Name: filepath.Base(args[0]), Stdin: stdin, Stdout: stdout, Stderr: stderr, Build: obs.NewBuild(version),
		Given: map[string]bool{},
	}
	if strings.ContainsRune(args[0], filepath.Separator) && !filepath.IsAbs(args[0]) {
		a.Name = args[0] // so that printed examples can be pasted
	}
	helped := false
	var c cli
	parser, err := kong.New(&c,
		kong.Name("tidemark"),
		kong.Description(description),
		kong.Writers(stdout, stderr),
		kong.Exit(func(int) { helped = true }),
		kong.DefaultEnvars("TIDEMARK"),
		kong.Vars{"version": a.Build.String()},
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
	)
	if err != nil {
		panic(err) // the struct above is wrong, independently of the arguments
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
	warn(a, k, ignored(parser.Model, environ()))
	if err != nil {
		return wrongUsage(a, err)
	}
	for _, p := range k.Path {
		if p.Flag != nil && !p.Resolved {
			a.Given[p.Flag.Name] = true
		}
	}
	return report(a, k.Run(a, parser))
}

// warn names ignored variables, in the format of the verb's log if it has one.
func warn(a *verbs.App, k *kong.Context, warnings []string) {
	format := ""
	if k != nil && k.Selected() != nil {
		for _, f := range k.Selected().Flags {
			if f.Name == "log-format" {
				format = f.Target.String()
			}
		}
	}
	log, err := obs.NewLogger(a.Stderr, format, "warn")
	for _, w := range warnings {
		if format != "" && err == nil {
			log.Warn(w)
		} else {
			fmt.Fprintf(a.Stderr, "tidemark: warning: %s\n", w)
		}
	}
}

// wrongUsage prints the error in the command line and how to get help.
func wrongUsage(a *verbs.App, err error) int {
	help := a.Name + " --help"
	var parse *kong.ParseError
	if errors.As(err, &parse) && parse.Context != nil {
		if node := parse.Context.Selected(); node != nil {
			help = node.FullPath() + " --help"
		}
	}
	fmt.Fprintf(a.Stderr, "tidemark: %s; `%s` has the usage\n", term.PrintableLines(err.Error()), help)
	return exitUsage
}

// report prints a verb's error, if any, and returns the exit code.
func report(a *verbs.App, err error) int {
	var usage verbs.UsageError
	switch {
	case err == nil:
		return exitDone
	case errors.Is(err, verbs.ErrDifferences):
		return exitDifferences
	case errors.As(err, &usage):
		fmt.Fprintf(a.Stderr, "tidemark: %s\n", term.PrintableLines(err.Error()))
		return exitUsage
	case a.Ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(a.Stderr, "tidemark: interrupted")
		return exitFailed
	case err.Error() == context.Canceled.Error(): // libraries report a lost connection so, too
		err = errors.New("the other side closed the connection: check that it is running, and try again")
	}
	fmt.Fprintf(a.Stderr, "tidemark: %s\n", term.PrintableLines(codes.Marked(err.Error())))
	return exitFailed
}
