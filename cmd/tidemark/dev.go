package main

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/tidemark/tidemark/app/dev"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/gateway"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/query"
)

type devCmd struct {
	verbs.FoldFlags
	threadFlags
	cacheFlags
	auditFlags
	Listen      string       `placeholder:"HOST:PORT" help:"Page, queries and ingest. By default 127.0.0.1:8080, or the next free port if that is taken."`
	KafkaListen string       `placeholder:"HOST:PORT" help:"The embedded Kafka. By default 127.0.0.1:9092, or the next free port if that is taken."`
	RedisListen string       `placeholder:"HOST:PORT" help:"The embedded Redis. By default 127.0.0.1:6379, or the next free port if that is taken."`
	DataDir     string       `placeholder:"DIR" help:"Directory that keeps topics and state from one start to the next. By default a temporary directory that is removed at the end."`
	Partitions  int32        `default:"4" placeholder:"N" help:"Partitions of each topic (${default})."`
	NoDemo      bool         `help:"Do not run the demo: the topics stay empty until you write events."`
	DemoSeed    uint64       `default:"1" placeholder:"N" help:"Seed of the demo's story (${default})."`
	Origins     []string     `placeholder:"ORIGIN" help:"Origins of pages that may open sockets and call the query API in addition to those of this machine, such as http://192.168.1.7:5173."`
	Hosts       []string     `placeholder:"NAME" help:"Host names, such as tidemark.internal.example.com, under which the stack answers, in addition to IP addresses and localhost."`
	Insecure    bool         `help:"Allow addresses that other machines can reach, where everyone may then read and publish as any user."`
	Memory      config.Bytes `default:"512MiB" placeholder:"SIZE" help:"Memory limit that the heap, the block cache and the queue share (${default}); 0 = none."`
	LogFormat   string       `enum:"text,json" default:"text" placeholder:"FORMAT" help:"Form of log lines: text or json (${default})."`
	LogLevel    string       `enum:"debug,info,warn,error" default:"warn" placeholder:"LEVEL" help:"Lowest level of log lines: debug, info, warn or error (${default})."`
}

func (devCmd) Help() string {
	return `
Pages of a development server on this machine, such as http://localhost:5173, may open sockets and call the query API.
Kafka and Redis are embedded, speak their protocols on real ports, and are for development only. Other programs can use
all three ports. The demo is a small company that chats: watch its numbers with ` + "`tidemark query watch ann`." + `

Example:

    tidemark dev
    tidemark dev --origins http://192.168.1.7:5173
    tidemark dev --audit-log -
    tidemark dev --no-demo --data-dir ./dev-data --partitions 8`
}

// Validate checks the partition count and the addresses.
func (c *devCmd) Validate() error {
	if c.Partitions < 1 || c.Partitions > 1024 {
		return fmt.Errorf("--partitions must be 1 to 1024")
	}
	for _, l := range c.addresses() {
		if err := query.CheckListen(cmp.Or(*l.addr, l.usual), c.Insecure); err != nil {
			return fmt.Errorf("%s: %w", l.flag, err)
		}
	}
	if err := c.checkCache(); err != nil {
		return err
	}
	return checkOrigins(c.Origins)
}

// The addresses that other verbs use by default.
const (
	usualListen = "127.0.0.1:8080"
	usualKafka  = "127.0.0.1:9092"
	usualRedis  = "127.0.0.1:6379"
)

// address is the address in a flag.
type address struct {
	flag  string
	addr  *string // empty: the usual one
	usual string
}

func (c *devCmd) addresses() []address {
	return []address{{"--listen", &c.Listen, usualListen}, {"--kafka-listen", &c.KafkaListen, usualKafka}, {"--redis-listen", &c.RedisListen, usualRedis}}
}

// devPatience is how long the banner waits for all partitions to be live. A long log takes longer.
const devPatience = 5 * time.Second

// Run runs the stack until it is interrupted.
func (c *devCmd) Run(a *verbs.App) error {
	level, err := obs.NewLevel(c.LogLevel)
	if err != nil {
		return err
	}
	log, err := obs.NewLoggerAt(a.Stderr, c.LogFormat, level)
	if err != nil {
		return err
	}
	auditLog, err := c.openAudit(a, log)
	if err != nil {
		return err
	}
	defer auditLog.Close()
	movable := map[string]bool{}
	for _, l := range c.addresses() {
		movable[l.flag] = *l.addr == "" // a port that is named stays
		*l.addr = cmp.Or(*l.addr, l.usual)
	}
	s, err := dev.Start(a.Ctx, dev.Config{
		Movable: movable, Listen: c.Listen, KafkaListen: c.KafkaListen, RedisListen: c.RedisListen, DataDir: c.DataDir,
		Partitions: c.Partitions, Settings: c.Settings(), ThreadsAlways: c.always(), RedisValues: c.RedisValues, RedisKeys: c.RedisKeys, Memory: c.Memory, SnapshotEvery: time.Minute, Demo: !c.NoDemo, DemoSeed: c.DemoSeed, Hosts: c.Hosts, Audit: auditLog,
		Gateway: gateway.Config{Origins: c.Origins, LoopbackOrigins: true},
		Build:   a.Build, Logger: log, LogLevel: level,
	})
	if err != nil {
		return err
	}
	ready, cancel := context.WithTimeout(a.Ctx, devPatience)
	err = s.AwaitReady(ready)
	cancel()
	select {
	case <-s.Done():
		return s.Close()
	default:
	}
	fmt.Fprint(a.Stdout, c.banner(a, s))
	if err != nil && a.Ctx.Err() == nil {
		fmt.Fprintf(a.Stdout, "\nNot all partitions are live yet: %s/readyz has the reasons.\n", s.URL)
	}
	select {
	case <-a.Ctx.Done():
		fmt.Fprintln(a.Stdout, "\nstopping ...")
	case <-s.Done():
	}
	if err := s.Close(); err != nil {
		return err
	}
	if s.Kept {
		fmt.Fprintf(a.Stdout, "stopped; topics and state are in %s\n", s.DataDir)
	} else {
		fmt.Fprintln(a.Stdout, "stopped; the temporary data is removed")
	}
	return nil
}

// banner lists the addresses and commands to try next. All commands can be pasted unchanged.
func (c *devCmd) banner(a *verbs.App, s *dev.Stack) string {
	data := s.DataDir + " (temporary; --data-dir keeps topics and state)"
	if s.Kept {
		data = s.DataDir + " (kept)"
	}
	demo := "a small company is chatting; --no-demo for silence"
	if c.NoDemo {
		demo = "off"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n", a.Build)
	fmt.Fprintf(&b, "  page, queries, ingest  %s\n", s.URL)
	fmt.Fprintf(&b, "  Kafka                  %s (embedded, %s)\n", s.Broker, term.Plural(int(c.Partitions), "partition"))
	fmt.Fprintf(&b, "  Redis                  %s (embedded)\n", s.RedisURL)
	fmt.Fprintf(&b, "  data                   %s\n", data)
	fmt.Fprintf(&b, "  demo                   %s\n\n", demo)
	addr, brokers := "", ""
	var export []string
	if s.URL != "http://"+usualListen {
		addr = " --addr " + s.URL
		export = append(export, "TIDEMARK_ADDR="+s.URL)
	}
	if s.Broker != usualKafka {
		brokers = " --brokers " + s.Broker
		export = append(export, "TIDEMARK_BROKERS="+s.Broker)
	}
	if s.RedisURL != "redis://"+usualRedis {
		export = append(export, "TIDEMARK_REDIS="+s.RedisURL)
	}
	if len(export) > 0 {
		fmt.Fprintf(&b, "These are not the usual ports. In terminals for other verbs:\n\n  export %s\n\n", strings.Join(export, " "))
	}
	fmt.Fprintf(&b, "Try in another terminal:\n\n")

	host, port, err := net.SplitHostPort(strings.TrimPrefix(s.RedisURL, "redis://"))
	if err != nil {
		host, port = "127.0.0.1", "6379" // the address of a listening socket always has both
	}
	fmt.Fprintf(&b, "  %s query watch ann%s\n\n", a.Name, addr)
	if c.NoDemo {
		fmt.Fprintf(&b, "  echo '%s' | %s emit%s\n", `{"topic":"chat.messages","event":{"channel_id":"general","members_joined":{"user_ids":["ann","bob"]}}}`, a.Name, brokers)
	}
	fmt.Fprintf(&b, "  echo '%s' | %s emit%s\n", `{"topic":"chat.messages","event":{"channel_id":"general","message_posted":{"message_id":"hello-1","sender_id":"bob","preview":"hello ann"}}}`, a.Name, brokers)
	fmt.Fprintf(&b, "  %s query explain ann general%s\n\n", a.Name, addr)
	fmt.Fprintf(&b, "  curl -s %s/tidemark.query.v1.QueryService/GetUnread \\\n", s.URL)
	fmt.Fprintf(&b, "    -H 'Content-Type: application/json' -d '{\"user_id\":\"ann\",\"channel_id\":\"general\"}'\n\n")
	fmt.Fprintf(&b, "  redis-cli -h %s -p %s hgetall inbox:ann\n\n", host, port)
	fmt.Fprintf(&b, "Ctrl-C stops it.\n")
	return b.String()
}
