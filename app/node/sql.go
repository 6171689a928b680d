package node

import (
	"errors"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/sqlsink"
)

// addSQL adds the role that writes the outputs to PostgreSQL. The database need not answer yet. As
// with the cache, it takes no node out of service: /readyz shows its lines, but they decide only on
// a node with no other role.
func (n *Node) addSQL() error {
	c := &n.cfg
	if c.SQL == nil {
		return errors.New("the role sql needs a database: name it with --sql")
	}
	sink, err := sqlsink.New(sqlsink.Config{
		Brokers: c.Kafka.Brokers, ClientOptions: c.Kafka.Options, Group: c.Group + "-sql",
		Unread: c.Topics.Unread, Channels: c.Topics.Channels, Receipts: c.Topics.Receipts,
		SessionTimeout: c.SessionTimeout, Database: c.SQL, Flush: c.SQLFlush,
		Registerer: n.registry, Logger: c.Logger.With("role", "sql"),
	})
	if err != nil {
		return err
	}
	alone := len(c.Roles) == 1 && c.Roles.Has(config.RoleSQL)
	n.parts = append(n.parts, part{name: "sql", run: sink.Run, ready: func() (bool, []string) {
		ready, lines := sink.Ready()
		return ready || !alone, lines
	}})
	return nil
}
