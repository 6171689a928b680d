package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/tidemark/tidemark/app/admin"
	"github.com/tidemark/tidemark/cmd/internal/verbs"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/term"
)

type logLevelCmd struct {
	verbs.JSONFlag
	verbs.NodeFlags
	Level string        `arg:"" optional:"" enum:"debug,info,warn,error,usual," default:"" help:"The new level: debug, info, warn, error, or usual for that of --log-level. Without it, the level is printed."`
	For   time.Duration `default:"10m" placeholder:"DURATION" help:"How long the new level lasts before the usual one returns (${default}); 0: until the node ends."`
}

func (logLevelCmd) Help() string {
	return `
Prints or changes the lowest level of a running node's log lines, without a restart. The usual level returns by itself. With keys
the token needs the scope admin, and each change is a line of the audit log. With --admin-listen, name that address in --addr. Each
node and each gateway has a level of its own.

Example:

    tidemark log-level
    tidemark log-level debug --for 5m --addr http://node-1:9090
    tidemark log-level usual`
}

// Validate checks the address and the duration.
func (c *logLevelCmd) Validate() error {
	if c.For < 0 {
		return fmt.Errorf("--for %s: it cannot be negative", c.For)
	}
	return c.NodeFlags.Validate()
}

// Run prints the level, after the change if there is one.
func (c *logLevelCmd) Run(a *verbs.App) error {
	var s obs.LevelState
	var err error
	if c.Level == "" {
		s, err = c.Admin().LogLevel(a.Ctx)
	} else {
		q := admin.LogLevelRequest{Level: c.Level}
		if c.Level != admin.UsualLevel && c.For > 0 {
			q.For = c.For.String()
		}
		s, err = c.Admin().SetLogLevel(a.Ctx, q)
	}
	if err != nil {
		return err
	}
	if c.JSON {
		return term.PrintJSON(a.Stdout, s)
	}
	_, err = fmt.Fprintln(a.Stdout, levelText(s))
	return err
}

func levelText(s obs.LevelState) string {
	var b strings.Builder
	b.WriteString(s.Level)
	switch {
	case s.Until != nil:
		fmt.Fprintf(&b, " until %s, then %s", s.Until.Local().Format("2006-01-02 15:04:05"), s.Usual)
	case s.Level != s.Usual:
		fmt.Fprintf(&b, " until the node ends; the usual level is %s", s.Usual)
	}
	return b.String()
}
