package verbs

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/tidemark/tidemark/internal/guard"
	"github.com/tidemark/tidemark/internal/term"
)

// YesFlag is for verbs that destroy. Neither it nor the flags that choose what to destroy have an
// environment variable: a variable that was set for another purpose must not answer for a person.
type YesFlag struct {
	Yes bool `env:"-" help:"Do not ask for confirmation; needed without a terminal."`
}

// Confirm returns nil if a person agrees, or --yes was given. what is a sentence about the loss,
// without its full stop.
func (f YesFlag) Confirm(a *App, what string) error {
	if f.Yes {
		return nil
	}
	if !term.OnTerminal(a.Stdin) {
		return Usagef("this %s; there is no terminal for a confirmation, so it needs --yes", what)
	}
	fmt.Fprintf(a.Stderr, "This %s. Type yes to go on: ", what)
	answer, err := bufio.NewReader(a.Input()).ReadString('\n')
	switch {
	case a.Ctx.Err() != nil:
		return context.Canceled
	case err != nil && !errors.Is(err, io.EOF):
		return fmt.Errorf("reading the answer: %w", err)
	case strings.TrimSpace(answer) != "yes":
		return errors.New("nothing was done: the answer was not yes")
	}
	return nil
}

// Input returns standard input. An interrupt of the command makes a waiting read fail; closing a
// terminal would not.
func (a *App) Input() io.Reader {
	r, w := io.Pipe()
	fail := func(e *guard.Error) { w.CloseWithError(e) }
	guard.Go("the reading of standard input", fail, func() {
		_, err := io.Copy(w, a.Stdin)
		w.CloseWithError(err) // nil is the end
	})
	guard.OnDone(a.Ctx, "the end of standard input", fail, func() { w.CloseWithError(context.Canceled) })
	return r
}
