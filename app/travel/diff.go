package travel

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/query"
	"github.com/tidemark/tidemark/query/queryv1"
)

// Question describes a question about what changed for a user.
type Question struct {
	UserID    string `json:"user_id"`
	ChannelID string `json:"channel_id,omitempty"` // empty: in all channels
	From      Moment `json:"from"`
	To        Moment `json:"to"`
	Records   int    `json:"records"` // at most so many are listed per channel; 0: 100
}

// Diff is the answer to a Question.
type Diff struct {
	UserID   string    `json:"user_id"`
	From     Moment    `json:"from"`
	To       Moment    `json:"to"`
	Channels []Changed `json:"channels"` // by id
}

// Changed is a channel whose answer changed.
type Changed struct {
	ChannelID string   `json:"channel_id"`
	FromAsOf  []string `json:"from_as_of"`
	ToAsOf    []string `json:"to_as_of"`
	Fields    []Field  `json:"fields"`
	Records   []Record `json:"records"` // between the two moments, about the user
	More      int      `json:"more,omitempty"`
}

// Field is a changed field of ChannelUnread, as JSON. It never has the text of a message.
type Field struct {
	Name string `json:"name"`
	From string `json:"from,omitempty"` // empty: not set
	To   string `json:"to,omitempty"`
}

// recordsListed is how many records of a channel a Diff lists by default, recordsMost at most.
const (
	recordsListed = 100
	recordsMost   = 1000
)

// Diff folds each partition to the first moment, queries it about the user, continues the fold to
// the second moment, and queries it again. It has one partition in memory at a time.
func (g *Guide) Diff(ctx context.Context, q Question) (_ *Diff, err error) {
	if err := q.check(); err != nil {
		return nil, connect.NewError(connect.CodeInvalidArgument, err)
	}
	ctx, leave, err := g.enter(ctx)
	if err != nil {
		return nil, connect.NewError(connect.CodeResourceExhausted, err)
	}
	defer leave()
	from, err := g.begin(ctx, q.From)
	if err != nil {
		return nil, coded(ctx, err)
	}
	defer func() { err = errors.Join(err, from.close()) }()
	to, err := g.begin(ctx, q.To)
	if err != nil {
		return nil, coded(ctx, err)
	}
	defer func() { err = errors.Join(err, to.close()) }()
	partitions := from.logs.all()
	if q.ChannelID != "" {
		partitions = []int32{events.PartitionOf([]byte(q.ChannelID), from.logs.partitions)}
	}
	d := &Diff{UserID: q.UserID, From: q.From, To: q.To, Channels: []Changed{}}
	for _, n := range partitions {
		list, err := g.diffPartition(ctx, &q, from, to, n)
		if err != nil {
			return nil, coded(ctx, err)
		}
		d.Channels = append(d.Channels, list...)
	}
	slices.SortFunc(d.Channels, func(a, b Changed) int { return strings.Compare(a.ChannelID, b.ChannelID) })
	return d, nil
}

func (q *Question) check() error {
	switch {
	case !events.ValidID([]byte(q.UserID)):
		return errors.New("user_id is not a valid id: 1 to 255 bytes without control characters")
	case q.ChannelID != "" && !events.ValidID([]byte(q.ChannelID)):
		return errors.New("channel_id is not a valid id: 1 to 255 bytes without control characters")
	case q.Records < 0 || q.Records > recordsMost:
		return errors.New("records must be from 0 to 1000")
	case len(q.From.AsOf) == 0 && len(q.To.AsOf) == 0 && q.To.Time.Before(q.From.Time):
		return errors.New("the second moment is before the first")
	}
	if q.Records == 0 {
		q.Records = recordsListed
	}
	return nil
}

// errBackwards refuses moments whose logs go backwards.
var errBackwards = connect.NewError(connect.CodeInvalidArgument, errors.New("the second moment is before the first"))

// diffPartition returns the channels of a partition that changed.
func (g *Guide) diffPartition(ctx context.Context, q *Question, from, to *trip, n int32) (_ []Changed, err error) {
	a, err := from.logs.at(from.moment, n)
	if err != nil {
		return nil, err
	}
	b, err := to.logs.at(to.moment, n)
	if err != nil {
		return nil, err
	}
	if !b.at.Dominates(a.at) {
		return nil, errBackwards
	}
	if err := from.fold(ctx, &a); err != nil {
		return nil, err
	}
	before, err := from.answers(ctx, q, n)
	if err != nil {
		return nil, err
	}
	if err := from.leave(n); err != nil {
		return nil, err
	}
	to.dir, from.dir = from.dir, to.dir // the fold continues from the first moment
	if err := to.foldFurther(ctx, &b); err != nil {
		return nil, err
	}
	after, err := to.answers(ctx, q, n)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(to.leave(n), os.RemoveAll(processor.StoreDir(to.dir, n))); err != nil {
		return nil, err
	}
	list := compare(before, after)
	return list, g.explain(ctx, q, list, n, a.at, b.at)
}

// fill reads a page of a user's channels.
func fill(rows *projections.UserPage, p *projections.Partition, user string) error {
	p.RLock()
	defer p.RUnlock()
	return rows.Fill(p, nil, user)
}

// answers returns what the user saw of each channel of a partition that had a record of the user.
func (t *trip) answers(ctx context.Context, q *Question, n int32) (map[string]*queryv1.ChannelUnread, error) {
	ids := []string{q.ChannelID}
	if q.ChannelID == "" {
		ids = ids[:0]
		for after := ""; ; after = ids[len(ids)-1] {
			const page = 1000
			rows := projections.NewUserPage(after, page)
			if err := fill(rows, t.live[n], q.UserID); err != nil {
				return nil, err
			}
			for _, r := range rows.Rows {
				ids = append(ids, string(r.ChannelID))
			}
			if len(rows.Rows) < page {
				break
			}
		}
	}
	local := query.NewLocal(query.Config{Node: t, Topics: t.logs.topics, Logger: t.guide.log})
	at := timestamppb.New(t.moment.evaluated(t.guide.now()).Truncate(time.Millisecond))
	out := map[string]*queryv1.ChannelUnread{}
	for _, id := range ids {
		res, err := local.GetUnread(ctx, &queryv1.GetUnreadRequest{UserId: q.UserID, ChannelId: id, EvaluatedAt: at})
		switch {
		case connect.CodeOf(err) == connect.CodeNotFound:
		case err != nil:
			return nil, err
		default:
			out[id] = res
		}
	}
	return out, nil
}

// compare returns the channels whose answers differ.
func compare(before, after map[string]*queryv1.ChannelUnread) []Changed {
	var list []Changed
	for id := range after {
		if before[id] == nil {
			before[id] = &queryv1.ChannelUnread{ChannelId: id}
		}
	}
	for id, a := range before {
		b := after[id]
		if b == nil {
			b = &queryv1.ChannelUnread{ChannelId: id} // deleted
		}
		if fields := differ(a, b); len(fields) > 0 {
			list = append(list, Changed{ChannelID: id, FromAsOf: a.AsOf, ToAsOf: b.AsOf, Fields: fields, Records: []Record{}})
		}
	}
	return list
}

// differ returns the fields that differ, in the order of the schema.
func differ(a, b *queryv1.ChannelUnread) (out []Field) {
	a, b = comparable(a), comparable(b)
	fields := a.ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		x, y := a.ProtoReflect(), b.ProtoReflect()
		if x.Has(f) == y.Has(f) && x.Get(f).Equal(y.Get(f)) {
			continue
		}
		out = append(out, Field{string(f.Name()), text(x, f), text(y, f)})
	}
	return out
}

// comparable returns an answer without the fields that always differ, and without the text of a
// message.
func comparable(c *queryv1.ChannelUnread) *queryv1.ChannelUnread {
	c = proto.CloneOf(c)
	c.AsOf, c.EvaluatedAt = nil, nil
	if c.Latest != nil {
		c.Latest.Preview = ""
	}
	return c
}

// text returns a field as JSON, "" if it is not set.
func text(m protoreflect.Message, f protoreflect.FieldDescriptor) string {
	if !m.Has(f) && f.Kind() == protoreflect.MessageKind {
		return ""
	}
	one := m.New()
	one.Set(f, m.Get(f))
	if !m.Has(f) { // a zero, which JSON leaves out
		return m.Get(f).String()
	}
	b, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(one.Interface())
	if err != nil {
		return ""
	}
	var out bytes.Buffer
	if err := json.Compact(&out, b); err != nil { // protojson's white space varies between builds
		return ""
	}
	_, value, _ := strings.Cut(strings.TrimSuffix(out.String(), "}"), ":")
	return value
}
