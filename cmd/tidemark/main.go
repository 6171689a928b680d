// Command tidemark runs Tidemark and looks into it: one file for each verb, what they share in cli.go, flags.go and
// output.go. What the verbs do is in the packages; here is what a person types and reads.
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
	logging.Disable() // what fails at Redis is returned or logged where it is known what it was for
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		secondSignal(signals, time.Now())
		fmt.Fprintln(os.Stderr, "tidemark: ended at once; the next start repairs what was under way")
		os.Exit(exitFailed)
	}()
	os.Exit(execute(ctx, os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// sameSignal is how long after the first signal another one is taken for the same: a supervisor that signals a
// process and its group sends it twice.
const sameSignal = time.Second

// secondSignal returns when a person asks again, should a graceful stop take too long.
func secondSignal(signals <-chan os.Signal, first time.Time) {
	for range signals {
		if time.Since(first) > sameSignal {
			return
		}
	}
}
