package museum

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"github.com/cockroachdb/datadriven"
	"github.com/twmb/franz-go/pkg/kgo"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
)

// tale is a story in progress on a site. On the wire it gives users and channels names of its own,
// so that all stories can run at the same time.
//
// Its lines are events in the language of package script, which are written together at the next
// question, and
//
//	? a             GetUnread. GetInbox, ExplainUnread and Redis (inbox,
//	                read-pointer, channel-latest) must agree; also "? a #general"
//	? inbox a       GetInbox; the order and the totals of Redis are the same
//	? inbox a unread    GetInbox, unread or flagged channels only; also "archived"
//	? a in thread m1    a listed thread: GetThreads, ExplainUnread
//	                    and inbox-threads
//	? threads a     GetThreads, with the totals of GetInbox
//	? explain a     ExplainUnread, with the event that put the pointer there; also: in thread m1
//	? badge a       what an app draws: the dot, the count in channels and threads, "99+"
//	? #general      GetChannel
//	? told a        deltas of the user since the last such question; also: in thread m1
//	? receipts m1   who received and who read a message: GetReceipts
//	? readers #c    the read state of a room: GetReaders
//	? shown #c      receipts in tidemark.receipts since the last such question
//	? redis KEY     the content of a key, with the names of the story: read-pointer:a:c
//	? pages of N a  GetInbox in pages of N
//	mark all read a     MarkAllRead and the number of channels; also: label work, with threads
//	N times LINE    the line N times, each % replaced by the numbers from 1
//	restart, rebuild, repair    see TestRestarts
//
// `story alone` gives the story a partition of its own. A story needs one if days pass, because
// time passes for a whole partition, or if its answers have offsets. `story now` also uses the wall
// clock, as MarkAllRead does.
type tale struct {
	t     *testing.T
	site  *site
	name  string
	alone int32 // its own partition; -1: it uses the shared ones
	shift int64 // what is added to the times of the story, in milliseconds

	parser   script.Parser
	pending  []script.Record
	records  map[string]string // token -> line of the story
	after    []string
	wire     map[string]string // name in the story -> name on the wire, of channels with #
	names    map[string]string // and back
	seen     map[string]int    // by key: deltas that answers have included
	expected []string          // the rest of the file's answers
	rewrite  bool
	fences   int
	asks     []string // words of the questions, including users
}

func newTale(t *testing.T, s *site, name string, d *datadriven.TestData) *tale {
	l := &tale{
		t: t, site: s, name: name, alone: -1, records: map[string]string{}, wire: map[string]string{}, names: map[string]string{},
		seen: map[string]int{}, expected: strings.Split(strings.TrimSuffix(d.Expected, "\n"), "\n"),
		rewrite: d.Rewrite, asks: asks(d.Input),
	}
	if d.HasArg("now") {
		l.shift = time.Now().Add(-time.Hour).UnixMilli() - script.Start
	}
	if d.HasArg("alone") || d.HasArg("now") {
		l.alone = s.ownPartition(t)
	}
	return l
}

// tell runs the next lines of the story and returns the answers.
func (l *tale) tell(lines []string) []string {
	l.t.Helper()
	var out []string
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if l.alone < 0 && strings.HasPrefix(line, "wait ") && !strings.HasSuffix(line, "s") {
			l.t.Fatalf("%s: %q lets time pass for all stories of the partition: this one must be `alone`", l.name, line)
		}
		asked, isQuestion := strings.CutPrefix(line, "?")
		words := strings.Fields(asked)
		switch {
		case isQuestion:
			l.publish()
			expected := strings.Join(l.expected[min(len(out), len(l.expected)):], "\n")
			out = append(out, strings.Split(l.answer(words, expected), "\n")...)
		case strings.HasPrefix(line, "mark all read "):
			l.publish()
			out = append(out, l.markAllRead(words[3], words[4:]))
		default:
			for _, event := range times(line) {
				l.event(event)
			}
		}
	}
	l.publish()
	l.expected = l.expected[min(len(out), len(l.expected)):]
	return out
}

// event parses a line of events.
func (l *tale) event(line string) {
	l.t.Helper()
	records, err := l.parser.Parse(line)
	if err != nil {
		l.t.Fatalf("%s: %v", l.name, err)
	}
	l.pending = append(l.pending, records...)
}

// times repeats a line that has a number of times.
func times(line string) []string {
	count, event, ok := strings.Cut(line, " times ")
	n, err := strconv.Atoi(count)
	if !ok || err != nil {
		return []string{line}
	}
	var out []string
	for i := range n {
		out = append(out, strings.ReplaceAll(event, "%", strconv.Itoa(i+1)))
	}
	return out
}

// publish writes the pending events. It writes the topics concurrently, so they may be folded in
// any order.
func (l *tale) publish() {
	l.t.Helper()
	if len(l.pending) == 0 {
		return
	}
	out := make([]*kgo.Record, len(l.pending))
	lines := make([]string, len(l.pending))
	for i := range l.pending {
		r := &l.pending[i]
		lines[i] = script.Format(r)
		l.dress(r)
		r.Timestamp += l.shift
		value, err := r.Value()
		if err != nil {
			l.t.Fatal(err)
		}
		out[i] = &kgo.Record{Topic: l.site.topics.Inputs[r.Input], Key: r.Key(), Value: value, Timestamp: time.UnixMilli(r.Timestamp)}
	}
	l.pending = nil
	l.connect()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := l.site.producer.ProduceSync(ctx, out...).FirstErr(); err != nil {
		l.t.Fatalf("%s: write events: %v", l.name, err)
	}
	last := map[string]int64{}
	for i, r := range out {
		at := fmt.Sprintf("%s/%d", r.Topic, r.Partition)
		last[at] = max(last[at], r.Offset)
		l.records[fmt.Sprintf("%s/%d", at, r.Offset)] = shorten(lines[i])
	}
	for at, offset := range last {
		l.after = append(l.after, fmt.Sprintf("%s/%d", at, offset))
	}
}

// shorten removes the times from a line.
func shorten(line string) string {
	line, _, _ = strings.Cut(line, " at ")
	return line
}

// dress gives a record the names on the wire. Records share memory with other records of their
// line, so it changes copies.
func (l *tale) dress(r *script.Record) {
	switch r.Input {
	case events.Messages:
		m := *r.Message
		m.ChannelID = l.channel(m.ChannelID)
		m.OccurredAt += l.shift
		m.TargetTime += l.shift
		if len(m.SenderID) > 0 {
			m.SenderID = l.user(m.SenderID)
		}
		m.IDs = slices.Clone(m.IDs)
		for i := range m.IDs {
			if m.Kind != events.KindChannelUpdated { // labels
				m.IDs[i] = l.user(m.IDs[i])
			}
		}
		m.HiddenFrom = slices.Clone(m.HiddenFrom)
		for i := range m.HiddenFrom {
			m.HiddenFrom[i] = l.user(m.HiddenFrom[i])
		}
		r.Message = &m
	case events.Reads:
		e := *r.Read
		e.ChannelID, e.UserID = l.channel(e.ChannelID), l.user(e.UserID)
		e.OccurredAt += l.shift
		e.TargetTime += l.shift
		if e.Until != 0 {
			e.Until += l.shift
		}
		r.Read = &e
	default:
		e := *r.Delivery
		e.ChannelID, e.UserID = l.channel(e.ChannelID), l.user(e.UserID)
		e.OccurredAt += l.shift
		r.Delivery = &e
	}
}

// when converts a time on the wire to the time in the story.
func (l *tale) when(at *timestamppb.Timestamp) int64 { return at.AsTime().UnixMilli() - l.shift }

func (l *tale) user(name []byte) []byte { return []byte(l.wireUser(string(name))) }

func (l *tale) wireUser(name string) string { return l.called(name, l.name+"/"+name) }

func (l *tale) channel(name []byte) []byte { return []byte(l.wireChannel(string(name))) }

// wireChannel returns a name on the wire that belongs to the right partition.
func (l *tale) wireChannel(name string) string {
	if w, ok := l.wire["#"+name]; ok {
		return w
	}
	for i := 0; ; i++ {
		w := fmt.Sprintf("%s/%s-%d", l.name, name, i)
		if p := events.PartitionOf([]byte(w), partitions); p == l.alone || l.alone < 0 && p < shared {
			l.names[w] = name
			return l.called("#"+name, w)
		}
	}
}

func (l *tale) called(name, wire string) string {
	if _, ok := l.wire[name]; !ok {
		l.wire[name] = wire
		if name[0] != '#' {
			l.names[wire] = name
		}
	}
	return l.wire[name]
}

// plain replaces names on the wire by those of the story, the longest first.
func (l *tale) plain(text string) string {
	var all []string
	for w := range l.names {
		all = append(all, w)
	}
	slices.SortFunc(all, func(a, b string) int { return len(b) - len(a) })
	for _, w := range all {
		text = strings.ReplaceAll(text, w, l.names[w])
	}
	return text
}

// asked makes a call and retries it while the partition moves. It fails the test if there is no
// answer.
func asked[Q, A any](l *tale, do func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), request *Q) *A {
	l.t.Helper()
	answer, err := tried(do, request)
	if err != nil {
		l.t.Fatalf("%s: %v", l.name, err)
	}
	return answer
}

func tried[Q, A any](do func(context.Context, *connect.Request[Q]) (*connect.Response[A], error), request *Q) (answer *A, err error) {
	_, _ = eventually(func() (bool, string) {
		var res *connect.Response[A]
		if res, err = do(context.Background(), connect.NewRequest(request)); err == nil {
			answer = res.Msg
		}
		return connect.CodeOf(err) != connect.CodeUnavailable || err == nil, ""
	})
	return answer, err
}

// notFound reports whether the channel does not exist.
func notFound(err error) bool {
	return err != nil && connect.CodeOf(err) == connect.CodeNotFound
}
