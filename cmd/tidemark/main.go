// Command tidemark runs Tidemark and inspects it. Each verb is a file here, or a package of
// cmd/internal/verbs if it has verbs below it; cli.go has the tree of all verbs. Other packages do
// the work of the verbs; this one has the command line and the output.
//
//	main.go         signals, and the exit
//	cli.go          the verbs, and how an error becomes a sentence and an exit code
//	environ.go      environment variables that no flag reads
//	dev.go          everything in one process
//	run.go          a node; cacheflags.go what it writes to Redis
//	config.go       checks the configuration of a node
//	gateway.go      a gateway
//	session_flags.go  how long a member may be silent
//	door_flags.go   the listeners of a node, and limits of calls
//	tls_flags.go    certificates of a node's listener
//	trace_flags.go  where traces go
//	auth_flags.go   tokens of callers, and proofs between nodes
//	audit_flags.go  the audit log
//	emit.go         writes events
//	emit_line.go    a line that is an event
//	diff.go         what changed for a user between two moments
//	replay.go       rebuilds stores
//	verify.go       compares stores and Redis with the topics
//	verify_node.go  the same beside a running node
//	reshard.go      moves to another number of partitions
//	log_level.go    the log level of a running node
//	token.go        makes a token
//	bench.go        measures this machine
//	explain_code.go  prints the runbook's section for a code
//	completion.go   completes commands in a shell
//	help.go         prints the help of a command
//	version.go      prints the version
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9/logging"
)

// version is the release's name; the linker sets it.
var version string

func main() {
	logging.Disable() // errors of Redis are returned, or logged with their context
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		secondSignal(signals, time.Now())
		fmt.Fprintln(os.Stderr, "tidemark: ended at once; the next start repairs the unfinished work")
		os.Exit(exitFailed)
	}()
	os.Exit(execute(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// sameSignal is the time after the first signal in which another one counts as the same: a
// supervisor that signals a process and its group sends it twice.
const sameSignal = time.Second

// secondSignal returns when the operator sends another signal, because the graceful stop takes too
// long.
func secondSignal(signals <-chan os.Signal, first time.Time) {
	for range signals {
		if time.Since(first) > sameSignal {
			return
		}
	}
}
