package verbs

import (
	"fmt"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/sqlsink"
)

// VerifySQL compares the tables of the role sql with the topics. Without --sql there is nothing to
// compare, and it returns nil.
func (f SQLAddress) VerifySQL(a *App, kafka config.Kafka, topics processor.Topics, limit int) (*sqlsink.Verified, error) {
	if f.SQL == "" {
		return nil, nil
	}
	addr, err := f.Address(a)
	if err != nil {
		return nil, err
	}
	return sqlsink.Verify(a.Ctx, sqlsink.Config{
		Brokers: kafka.Brokers, ClientOptions: kafka.Options, Database: addr, Unread: topics.Unread, Channels: topics.Channels, Receipts: topics.Receipts,
	}, limit)
}

// PrintSQL prints the result of a comparison of the tables.
func PrintSQL(a *App, v *sqlsink.Verified) {
	fmt.Fprintf(a.Stdout, "\nSQL: %s compared, %s\n", term.Plural(v.Rows, "row"), term.Plural(v.Differences, "difference"))
	if v.Late > 0 {
		fmt.Fprintf(a.Stdout, "%s not compared: the topics have newer values, which the sink has not written yet\n", term.Plural(v.Late, "row"))
	}
	for _, d := range v.First {
		fmt.Fprintln(a.Stdout, term.Printable(d.String()))
	}
	if more := v.Differences - len(v.First); more > 0 {
		fmt.Fprintf(a.Stdout, "and %d more\n", more)
	}
}
