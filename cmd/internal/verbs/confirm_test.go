package verbs_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/cmd/internal/verbs"
)

// Without a terminal only --yes confirms; a piped yes does not.
func TestConfirm(t *testing.T) {
	a, _, stderr := newApp(t)
	a = within(a.Ctx, a, strings.NewReader("yes\n"))
	var usage verbs.UsageError
	if err := (verbs.YesFlag{}).Confirm(a, "removes everything"); !errors.As(err, &usage) ||
		err.Error() != "this removes everything; there is no terminal for a confirmation, so it needs --yes" {
		t.Errorf("the error is %v", err)
	}
	if err := (verbs.YesFlag{Yes: true}).Confirm(a, "removes everything"); err != nil || stderr.Len() > 0 {
		t.Errorf("with --yes %v, %q", err, stderr)
	}
}

// Reading standard input ends when the verb is interrupted, even if nothing was typed.
func TestInputEndsWithTheVerb(t *testing.T) {
	a, _, _ := newApp(t)
	typed, typing := io.Pipe()
	defer typing.Close()
	ctx, cancel := context.WithCancel(t.Context())
	in := bufio.NewReader(within(ctx, a, typed).Input())
	if _, err := io.WriteString(typing, "first\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := in.ReadString('\n'); line != "first\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	cancel()
	if _, err := in.ReadString('\n'); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}
