package sqlsink

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/events"
)

// Verified is the result of a comparison of the tables with the topics.
type Verified struct {
	Rows        int          `json:"rows"` // rows compared
	Late        int          `json:"late"` // keys with a newer value in the topics that is not written yet: not compared
	Differences int          `json:"differences"`
	First       []Difference `json:"first,omitempty"`
}

// Difference is a row that differs from the topics. Is or Want is empty if that side has no row.
type Difference struct {
	Table string `json:"table"`
	Key   string `json:"key"`
	Is    string `json:"is"`
	Want  string `json:"want"`
}

// String describes the difference in one line.
func (d Difference) String() string {
	none := func(row string) string {
		if row == "" {
			return "missing"
		}
		return row
	}
	return fmt.Sprintf("SQL, table %s, %s: is %s, should be %s", d.Table, d.Key, none(d.Is), none(d.Want))
}

// Verify compares the tables with the last values of the topics, up to the positions that were
// written when it began. It writes only to temporary tables, and returns at most limit differences.
// The sink may run meanwhile.
func Verify(ctx context.Context, cfg Config, limit int) (_ *Verified, err error) {
	cfg, err = cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	db := newDatabase(&cfg, newMetrics(nil))
	conn, err := pgx.ConnectConfig(ctx, cfg.Database.conf.Copy())
	if err != nil {
		return nil, db.inWords(err)
	}
	defer closeConn(conn)
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return nil, db.inWords(err)
	}
	out, err := verify(ctx, tx, &cfg, limit)
	if err = db.inWords(err); errors.Is(err, errReopen) {
		return nil, fmt.Errorf("%s has no schema tidemark that the role sql fills: start a node with the role, and compare once it is complete", cfg.Database)
	}
	return out, err
}

// shadow creates the tables that the topics are read into, with the indexes that ON CONFLICT needs.
const shadow = `
CREATE TEMPORARY TABLE unread (LIKE tidemark.unread INCLUDING INDEXES);
CREATE TEMPORARY TABLE read_pointers (LIKE tidemark.read_pointers INCLUDING INDEXES);
CREATE TEMPORARY TABLE channels (LIKE tidemark.channels INCLUDING INDEXES);
CREATE TEMPORARY TABLE receipts (LIKE tidemark.receipts INCLUDING INDEXES);
CREATE TEMPORARY TABLE deleted_channels (LIKE tidemark.deleted_channels INCLUDING INDEXES);
CREATE TEMPORARY TABLE removed (LIKE tidemark.removed INCLUDING INDEXES)`

// dropIncoming drops the tables of one batch before the end of the transaction.
const dropIncoming = `DROP TABLE pg_temp.in_unread, pg_temp.in_channels, pg_temp.in_receipts`

func verify(ctx context.Context, tx pgx.Tx, cfg *Config, limit int) (*Verified, error) {
	positions, err := positionsOf(ctx, tx)
	if err != nil {
		return nil, err
	}
	run := func(statements string) error {
		_, err := tx.Exec(ctx, statements, pgx.QueryExecModeSimpleProtocol)
		return err
	}
	if err := run(shadow); err != nil {
		return nil, err
	}
	var b batch
	b.reset()
	late := map[string]bool{}
	flush := func() error {
		if b.rows() == 0 {
			return nil
		}
		if err := merge(ctx, tx, &b, "pg_temp"); err != nil {
			return err
		}
		b.reset()
		return run(dropIncoming)
	}
	err = readAll(ctx, cfg, func(r *kgo.Record) error {
		if r.Offset >= positions[partition{Topic: r.Topic, Number: r.Partition}] {
			if r.Topic != cfg.Receipts {
				late[lateKey(cfg, r)] = true
			}
			return nil
		}
		switch r.Topic {
		case cfg.Unread:
			b.addUnread(r, nil)
		case cfg.Channels:
			b.addChannel(r, nil)
		default:
			b.addReceipts(r, nil)
		}
		if b.rows() >= cfg.Flush.Rows || len(b.text.b) >= cfg.FlushBytes {
			return flush()
		}
		return nil
	})
	if err == nil {
		err = flush()
	}
	if err != nil {
		return nil, err
	}
	out := &Verified{}
	for _, c := range comparisons {
		if err := c.compare(ctx, tx, late, limit, out); err != nil {
			return nil, fmt.Errorf("compare %s: %w", c.table, err)
		}
	}
	return out, nil
}

// positionsOf returns the offsets up to which the tables are written.
func positionsOf(ctx context.Context, tx pgx.Tx) (map[partition]int64, error) {
	rows, err := tx.Query(ctx, `SELECT topic, partition, next_offset FROM tidemark.positions`)
	if err != nil {
		return nil, err
	}
	positions := map[partition]int64{}
	var p partition
	var next int64
	_, err = pgx.ForEachRow(rows, []any{&p.Topic, &p.Number, &next}, func() error {
		positions[p] = next
		return nil
	})
	return positions, err
}

// lateKey returns the key of a record in the form of the comparisons.
func lateKey(cfg *Config, r *kgo.Record) string {
	if r.Topic != cfg.Unread {
		return "channel " + string(r.Key)
	}
	user, channel, thread, _ := events.SplitUnreadKey(r.Key)
	return unreadKey(string(user), string(channel), string(thread))
}

func unreadKey(user, channel, thread string) string {
	if thread != "" {
		return "user " + user + " in thread " + thread + " of " + channel
	}
	return "user " + user + " in " + channel
}

// comparison describes how to compare a table with its shadow.
type comparison struct {
	table string
	key   string // SQL of the key in words, of a row x
	on    string // columns of the key
	less  string // fields that are not compared
	// only restricts the differing rows: the table has receipts that are older than the topic.
	only string
}

var keyOfPair = `CASE WHEN x.thread_id = '' THEN 'user ' || x.user_id || ' in ' || x.channel_id
	ELSE 'user ' || x.user_id || ' in thread ' || x.thread_id || ' of ' || x.channel_id END`

var comparisons = []comparison{
	{table: "unread", key: keyOfPair, on: "user_id, channel_id, thread_id", less: "- 'updated_at'"},
	{table: "read_pointers", key: keyOfPair, on: "user_id, channel_id, thread_id", less: "- 'm' - 'r' - 'd'"},
	{table: "channels", key: "'channel ' || x.channel_id", on: "channel_id"},
	{table: "receipts", key: "'user ' || x.user_id || ' in ' || x.channel_id || ' up to ' || x.up_to_seq", on: "channel_id, user_id, up_to_seq",
		only: `AND s.row IS NOT NULL AND (t.row IS NULL OR t.row->>'read_at' > s.row->>'read_at' OR t.row->>'read_at' IS NULL AND s.row->>'read_at' IS NOT NULL
			OR t.row->>'delivered_at' > s.row->>'delivered_at' OR t.row->>'delivered_at' IS NULL AND s.row->>'delivered_at' IS NOT NULL)`},
}

// compare counts the differences of a table, without late keys.
func (c comparison) compare(ctx context.Context, tx pgx.Tx, late map[string]bool, limit int, out *Verified) error {
	var n int
	if err := tx.QueryRow(ctx, `SELECT count(*) FROM pg_temp.`+c.table).Scan(&n); err != nil {
		return err
	}
	out.Rows += n
	of := func(table string) string {
		return `(SELECT ` + c.on + `, ` + c.key + ` AS name, to_jsonb(x) ` + c.less + ` AS row FROM ` + table + ` x)`
	}
	rows, err := tx.Query(ctx, `SELECT coalesce(t.name, s.name), coalesce(t.row::text, ''), coalesce(s.row::text, '')
		FROM `+of("tidemark."+c.table)+` t FULL JOIN `+of("pg_temp."+c.table)+` s USING (`+c.on+`)
		WHERE t.row IS DISTINCT FROM s.row `+c.only+` ORDER BY `+c.on)
	if err != nil {
		return err
	}
	d := Difference{Table: c.table}
	_, err = pgx.ForEachRow(rows, []any{&d.Key, &d.Is, &d.Want}, func() error {
		if late[d.Key] {
			out.Late++
			return nil
		}
		if out.Differences++; len(out.First) < limit {
			out.First = append(out.First, d)
		}
		return nil
	})
	return err
}
