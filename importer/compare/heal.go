package compare

import (
	"fmt"
	"io"
	"strings"
	"unicode"
)

// perTransaction is the largest number of corrections in one transaction.
const perTransaction = 1000

// Healing writes the statements that correct the product's numbers, in transactions. A comment with
// the result of the comparison precedes each one.
type Healing struct {
	To        io.Writer
	Dialect   Dialect // the zero value is SQL
	Statement func(*Line) (statement string, ok bool)
	Healed    int // numbers with a statement
	Left      int // wrong numbers without one

	open int // statements in the open transaction
}

// Dialect is the text around statements.
type Dialect struct{ comment, begin, commit string }

// SQL is the dialect of most databases with SQL, Mongosh that of MongoDB's shell. Statements of
// Mongosh use the variable subscriptions, which the beginning of a transaction sets.
var (
	SQL     = Dialect{"-- ", "BEGIN;", "COMMIT;"}
	Mongosh = Dialect{
		"// ", "var session = db.getMongo().startSession(); var subscriptions = session.getDatabase(db.getName()).rocketchat_subscription; session.startTransaction();",
		"session.commitTransaction();",
	}
)

// Add writes the statement for a number that is wrong in the product. It ignores all others.
func (h *Healing) Add(l *Line) error {
	if l.Bucket != TheirsWrong {
		return nil
	}
	statement, ok := h.Statement(l)
	if !ok {
		h.Left++
		return nil
	}
	if h.Dialect == (Dialect{}) {
		h.Dialect = SQL
	}
	begin := ""
	if h.open == 0 {
		begin = h.Dialect.begin + "\n"
	}
	h.Healed++
	h.open++
	if _, err := fmt.Fprintf(h.To, "%s%s%s\n%s\n", begin, h.Dialect.comment, oneLine(l.String()), ended(statement)); err != nil || h.open < perTransaction {
		return err
	}
	return h.End()
}

// End ends the open transaction.
func (h *Healing) End() error {
	if h.open == 0 {
		return nil
	}
	h.open = 0
	_, err := fmt.Fprintln(h.To, h.Dialect.commit)
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
