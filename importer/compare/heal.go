package compare

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// perTransaction is how many numbers a transaction sets right.
const perTransaction = 1000

// Healing writes the statements that set the product's numbers right, in transactions. Each one has
// the result of the comparison as a comment before it.
type Healing struct {
	To        io.Writer
	Statement func(*Line) (statement string, ok bool)
	Healed    int // numbers with a statement
	Left      int // wrong numbers without one

	open int // statements in the transaction that is open
}

// Add writes the statement of a number that is wrong in the product. It ignores all others.
func (h *Healing) Add(l *Line) error {
	if l.Bucket != TheirsWrong {
		return nil
	}
	statement, ok := h.Statement(l)
	if !ok {
		h.Left++
		return nil
	}
	begin := ""
	if h.open == 0 {
		begin = "BEGIN;\n"
	}
	h.Healed++
	h.open++
	if _, err := fmt.Fprintf(h.To, "%s-- %s\n%s\n", begin, oneLine(l.String()), ended(statement)); err != nil || h.open < perTransaction {
		return err
	}
	return h.End()
}

// End ends the transaction that is open.
func (h *Healing) End() error {
	if h.open == 0 {
		return nil
	}
	h.open = 0
	_, err := fmt.Fprintln(h.To, "COMMIT;")
	return err
}

// oneLine replaces what could end a comment.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}

// ended returns a statement that ends with a semicolon.
func ended(statement string) string {
	return strings.TrimRight(statement, "; \n") + ";"
}
