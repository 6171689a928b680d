// Command servers runs another command with a real Apache Kafka and a real redis-server beside it,
// and ends them with it:
//
//	go run ./internal/test/testkit/cmd/servers -- go test ./...
//
// The command finds the addresses in TIDEMARK_TEST_BROKERS and TIDEMARK_TEST_REDIS. The exit code
// is the command's. With -fetch it only makes sure that Kafka's jars are there, and prints their
// folder; with -fetch-synapse that Synapse is there, and prints the path of its Python.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/internal/test/testkit/servers"
)

func main() {
	fetch := flag.Bool("fetch", false, "fetch Kafka's jars if they are missing, print their folder, and end")
	synapse := flag.Bool("fetch-synapse", false, "fetch Synapse if it is missing, print the path of its Python, and end")
	jvm := flag.String("jvm", "", "options of the broker's Java virtual machine, separated by spaces (default: small, for tests)")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: servers [flags] -- COMMAND [ARG...]")
		flag.PrintDefaults()
	}
	flag.Parse()
	if (*fetch || *synapse) == (flag.NArg() > 0) {
		flag.Usage()
		os.Exit(2)
	}
	if *fetch {
		dir, err := servers.KafkaLibs(context.Background())
		exitOn(err)
		fmt.Println(dir)
	}
	if *synapse {
		python, err := servers.SynapsePython(context.Background())
		exitOn(err)
		fmt.Println(python)
	}
	if *fetch || *synapse {
		return
	}
	code, err := run(strings.Fields(*jvm), flag.Args())
	exitOn(err)
	os.Exit(code)
}

func exitOn(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "servers:", err)
		os.Exit(1)
	}
}

// run starts the servers, runs the command with their addresses in its environment, ends them and
// returns the command's exit code.
func run(jvm, command []string) (code int, err error) {
	cmd := exec.Command(command[0], command[1:]...)
	if cmd.Err != nil { // not found: start nothing
		return 0, fmt.Errorf("run %s: %w", command[0], cmd.Err)
	}
	// Ctrl-C at the terminal also reaches the command. The command decides when to end, and the
	// servers end after it.
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)

	var kafka *servers.Kafka
	var redis *servers.Redis
	defer func() {
		if kafka != nil {
			err = errors.Join(err, kafka.Close())
		}
		if redis != nil {
			err = errors.Join(err, redis.Close())
		}
	}()
	started := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	starting, ctx := errgroup.WithContext(ctx)
	starting.Go(func() (err error) {
		kafka, err = servers.StartKafka(ctx, servers.KafkaOptions{JVM: jvm})
		return err
	})
	starting.Go(func() (err error) {
		redis, err = servers.StartRedis(ctx)
		return err
	})
	if err := starting.Wait(); err != nil {
		return 0, err
	}
	brokers := strings.Join(kafka.Brokers(), ",")
	fmt.Fprintf(os.Stderr, "servers: Kafka %s at %s, Redis at %s, after %.1f s\n",
		servers.KafkaVersion, brokers, redis.URL(), time.Since(started).Seconds())

	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), testkit.BrokersEnv+"="+brokers, testkit.RedisEnv+"="+redis.URL())
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("run %s: %w", command[0], err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			if sig == syscall.SIGTERM {
				_ = cmd.Process.Signal(sig) // it may have just ended
			}
		case err := <-ended:
			var exit *exec.ExitError
			if err != nil && !errors.As(err, &exit) {
				return 0, fmt.Errorf("run %s: %w", command[0], err)
			}
			if code := cmd.ProcessState.ExitCode(); code >= 0 {
				return code, nil
			}
			return 1, fmt.Errorf("%s: %w", command[0], err) // ended by a signal
		}
	}
}
