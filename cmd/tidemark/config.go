package main

import (
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/cmd/internal/verbs/preflight"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/term"
)

type configCmd struct {
	Check configCheckCmd `cmd:"" help:"Check whether a node with these flags could work."`
}

func (configCmd) Help() string {
	return `
Example:

    tidemark config check --config /etc/tidemark.yml`
}

// configCheckCmd has the flags of run.
type configCheckCmd struct {
	runCmd
	verbs.JSONFlag
}

func (configCheckCmd) Help() string {
	return `
Takes the flags, the environment and the file of ` + "`tidemark run`" + `, and checks whether that node could work, without
starting it: keys and certificates, brokers, topics, the rights of each role, other nodes and their settings, memory, data
directory, Redis, snapshots, listeners. It joins no group and folds nothing. To check a right it may write something, which it
removes again. Run it on the node's machine, as the user of the node. The exit code is 1 if a check failed, and each failed check
prints what to do.

Example:

    tidemark config check --config /etc/tidemark.yml
    tidemark config check --brokers kafka-1:9092 --redis redis://redis:6379 --data-dir /var/lib/tidemark --json`
}

// Run prints a line per check.
func (c *configCheckCmd) Run(a *verbs.App) error {
	var report preflight.Report
	nc := node.Config{Logger: slog.New(slog.DiscardHandler)}
	broken := 0
	for _, s := range c.settingsOf(a, &nc) {
		if err := s.set(); err != nil {
			broken++
			report.Failed(s.name, err.Error(), "repair the flag or the file that it names")
		}
	}
	if broken == 0 {
		report.OK("settings", "the flags fit together, and the files that they name can be read")
	}
	nc.Memory, _ = config.MemoryByDefault(os.DirFS("/"))
	if c.Memory != nil {
		nc.Memory = *c.Memory
	}
	nc.Advertise = c.advertised(asListened(c.Listen), nc.TLS != nil)
	preflight.Run(a.Ctx, preflight.Config{Node: nc, KafkaUser: c.KafkaUser, Listen: c.Listen, AdminListen: c.AdminListen, Patience: verbs.Patience}, &report)
	if a.Ctx.Err() != nil {
		return a.Ctx.Err()
	}
	if err := c.print(a, &report); err != nil {
		return err
	}
	if n := report.Count(preflight.Failed); n > 0 {
		return fmt.Errorf("%s failed: a node with these flags would not start or not work", term.Plural(n, "check"))
	}
	return nil
}

// asListened is the address of a listener that is not open. On port 0 it has no port yet.
type asListened string

func (asListened) Network() string  { return "tcp" }
func (l asListened) String() string { return string(l) }

var _ net.Addr = asListened("")

func (c *configCheckCmd) print(a *verbs.App, report *preflight.Report) error {
	if c.JSON {
		return term.PrintJSON(a.Stdout, struct {
			Checks  []preflight.Line `json:"checks"`
			Failed  int              `json:"failed"`
			Unknown int              `json:"unknown"`
		}{report.Lines, report.Count(preflight.Failed), report.Count(preflight.Unknown)})
	}
	t := term.NewTable("CHECK", "RESULT", "FOUND, AND WHAT TO DO")
	for _, l := range report.Lines {
		t.Row(l.Check, l.Result, term.Printable(l.Found))
		if l.WayOut != "" {
			t.Row("", "", "-> "+term.Printable(l.WayOut))
		}
	}
	return t.Print(a.Stdout)
}
