package tinode

import (
	"context"
	"fmt"
	"strconv"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/product/internal/change"
	"github.com/tidemark/tidemark/importer/source"
)

// pointer maps a pointer. It names the newest message that the database has up to the pointer. If
// the pointer was not further before, it also names the next message, so that nothing else decides
// what is read: neither an older pointer nor a message of the user's own. That drops what they have
// read singly behind it, so these reads follow.
func (l *Live) pointer(c *change.Change, topic, was, read string) error {
	seq, is := number(read)
	before, known := number(was)
	if !is {
		c.Problems.Add(c.Origin(), "readseqid is no number of a message: taken as none", strconv.Quote(read))
		return nil
	}
	e := &importer.Event{Kind: importer.KindPointer, Channel: topic, User: c.Text("userid"), Until: c.Commit}
	var err error
	if e.ID, err = l.one(c.Ctx, "SELECT max(seqid) AS seqid FROM messages WHERE topic = %s AND seqid <= %d", product.Literal(topic), seq); err != nil {
		return err
	}
	if e.ID == "" {
		return nil // nothing was there to read
	}
	if known && before > 0 && before <= seq {
		return c.Send(e)
	}
	if e.Next, err = l.one(c.Ctx, "SELECT min(seqid) AS seqid FROM messages WHERE topic = %s AND seqid > %d AND deletedat IS NULL "+
		"AND createdat <= to_timestamp(%d / 1000.0) AT TIME ZONE 'UTC'", product.Literal(topic), seq, c.Commit); err != nil {
		return err
	}
	if err := c.Send(e); err != nil || e.Next == "" {
		return err
	}
	return l.singles(c, topic, e.User, fmt.Sprintf("n > %d", seq))
}

// number parses the number of a message.
func number(text string) (seq int64, ok bool) {
	seq, err := strconv.ParseInt(text, 10, 32)
	return seq, err == nil
}

// hidden maps messages that a user has deleted for themselves.
func (l *Live) hidden(c *change.Change) error {
	user := c.Text("deletedfor")
	if c.Kind != source.Inserted || user == "" || user == "0" {
		return nil
	}
	return l.singles(c, c.Text("topic"), user, "d.id = "+product.Literal(c.Text("id")))
}

// singles reads the messages that a user has deleted for themselves.
func (l *Live) singles(c *change.Change, topic, user, where string) error {
	e := &importer.Event{Kind: importer.KindSingle, Channel: topic, User: user}
	_, err := l.now.Rows(c.Ctx, "dellog", fmt.Sprintf(`SELECT DISTINCT m.seqid FROM dellog d CROSS JOIN LATERAL generate_series(d.low, greatest(d.low, d.hi - 1)) n
			JOIN messages m ON m.topic = d.topic AND m.seqid = n AND m.deletedat IS NULL AND m."from" <> d.deletedfor
		WHERE d.topic = %s AND d.deletedfor::text = %s AND %s ORDER BY 1`, product.Literal(topic), product.Literal(user), where), func(row *source.Row) error {
		e.More = append(e.More, row.Text("seqid"))
		return nil
	})
	if err != nil || len(e.More) == 0 {
		return err
	}
	e.ID, e.More = e.More[0], e.More[1:]
	return c.Send(e)
}

// one returns the number of a query; "" if it has none.
func (l *Live) one(ctx context.Context, query string, args ...any) (seq string, err error) {
	_, err = l.now.Rows(ctx, "messages", fmt.Sprintf(query, args...), func(row *source.Row) error {
		seq = row.Text("seqid")
		return nil
	})
	return seq, err
}
