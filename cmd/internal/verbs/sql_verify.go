package verbs

import (
	"fmt"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/term"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/sqlsink"
)

// VerifySQL compares the tables of the role sql with the topics, prints what it found and reports
// whether anything differs. Without --sql there is nothing to compare.
func (f SQLAddress) VerifySQL(a *App, kafka config.Kafka, topics processor.Topics, limit int, json bool) (differ bool, err error) {
	if f.SQL == "" {
		return false, nil
	}
	addr, err := f.Address(a)
	if err != nil {
		return false, err
	}
	v, err := sqlsink.Verify(a.Ctx, sqlsink.Config{
		Brokers: kafka.Brokers, ClientOptions: kafka.Options, Database: addr, Unread: topics.Unread, Channels: topics.Channels, Receipts: topics.Receipts,
	}, limit)
	if err != nil {
		return false, err
	}
	if json {
		return v.Differences > 0, term.PrintJSON(a.Stdout, map[string]any{"sql": v})
	}
	fmt.Fprintf(a.Stdout, "\nSQL: %s compared, %s\n", term.Plural(v.Rows, "row"), term.Plural(v.Differences, "difference"))
	if v.Late > 0 {
		fmt.Fprintf(a.Stdout, "%s not compared: the topics have newer values, which are not written yet\n", term.Plural(v.Late, "row"))
	}
	for _, d := range v.First {
		fmt.Fprintln(a.Stdout, term.Printable(d.String()))
	}
	if more := v.Differences - len(v.First); more > 0 {
		fmt.Fprintf(a.Stdout, "and %d more\n", more)
	}
	return v.Differences > 0, nil
}
