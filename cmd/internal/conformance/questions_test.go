package conformance

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
)

// question is what a line of a story asks.
type question struct {
	verb                           string
	user, channel, thread, message string
	label                          string
	at                             int64 // 0: as of the last record
}

// verbs are the first words of questions that the API answers. The one without is the user's view
// of a channel, or of a thread.
var verbs = []string{"inbox", "threads", "explain", "badge", "receipts", "readers", "mentions", "totals", "line"}

// notAsked are those of which the API says nothing: what is published, what is in Redis, stamps,
// pages of a size, and what only some settings answer.
var notAsked = []string{"told", "shown", "redis", "pages", "deltas", "stamp", "to", "always"}

// parseQuestion returns nil for a question that is not of the API.
func parseQuestion(words []string) *question {
	if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(notAsked, w) }) {
		return nil
	}
	q := &question{verb: "view", channel: script.DefaultChannel}
	if slices.Contains(verbs, words[0]) {
		q.verb, words = words[0], words[1:]
	}
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case w == "in":
		case w == "thread":
			i++
			q.thread = words[i]
		case w == "label":
			i++
			q.label = words[i]
		case w == "at":
			i++
			at, err := script.ParseTime(words[i])
			if err != nil {
				panic(err)
			}
			q.at = at
		case strings.HasPrefix(w, "#"):
			q.channel = w[1:]
		case q.verb == "receipts":
			q.message = w
		default:
			q.user = w
		}
	}
	if q.user == "" && q.verb == "view" {
		q.verb = "channel"
	}
	return q
}

// is reports whether a line of a story is one of the texts. Stories of a whole site name events by
// their lines; recipients and readers are in the order in which they joined, six at most.
func (q *question) is(line string, texts []string) bool {
	switch q.verb {
	case "explain":
		return slices.ContainsFunc(texts, func(text string) bool { return withoutEvent(text) == withoutEvent(line) })
	case "receipts", "readers":
	default:
		return slices.Contains(texts, line)
	}
	return slices.ContainsFunc(texts, func(text string) bool {
		if _, more, found := strings.Cut(line, ", and "); found && strings.HasSuffix(more, " more") {
			a, _, _ := strings.Cut(line, " | ")
			b, _, _ := strings.Cut(text, " | ")
			return a == b
		}
		return sorted(line) == sorted(text)
	})
}

// withoutEvent leaves out of an explanation which event put the pointer there.
func withoutEvent(line string) string {
	if i := strings.LastIndex(line, " by "); i > strings.LastIndex(line, " read to ") {
		line = line[:i]
	}
	return line
}

func sorted(line string) string {
	parts := strings.Split(strings.NewReplacer(" | ", "\n", ", ", "\n", ": ", ":\n").Replace(line), "\n")
	slices.Sort(parts)
	return strings.Join(parts, "\n")
}

type object = map[string]any

// ask returns the question as a call with the model's answer, and that answer in words. until says
// that a level of the story ends at some time; calls then state their own time.
func (w *world) ask(q *question, until bool) (*Ask, []string) {
	now := cmp.Or(q.at, w.now)
	a := &Ask{Request: object{}, Want: object{}}
	if q.user != "" {
		a.Request["user_id"] = q.user
	}
	var texts []string
	switch q.verb {
	case "inbox":
		texts = w.askInbox(q, a, now)
	case "badge", "totals":
		texts = w.askTotals(q, a, now)
	case "threads":
		texts = w.askThreads(q, a, now)
	case "channel":
		texts = w.askChannel(q, a)
	case "readers":
		texts = w.askReaders(q, a)
	case "receipts":
		texts = w.askReceipts(q, a)
	default:
		a.Request["channel_id"] = q.channel
		switch {
		case q.verb == "explain":
			texts = w.askExplain(q, a)
		case q.thread != "":
			texts = w.askThread(q, a)
		default:
			texts = w.askView(q, a)
		}
	}
	if a.Method == "GetInbox" || a.Method == "GetThreads" {
		delete(a.Request, "channel_id")
	}
	if until && (a.Method == "GetInbox" || a.Method == "GetThreads") {
		a.Request["evaluated_at"] = since(now)
	}
	if until && a.Method == "GetUnread" { // levels as they were said
		a.Request["evaluated_at"] = 0
	}
	if a.Error != "" {
		a.Want = nil
	}
	return a, texts
}

func since(ms int64) int64 { return ms - script.Start }

// wanted is a message that an answer names; nil for none.
func wanted(r projections.Ref) any {
	switch {
	case r == projections.Ref{}:
		return nil
	case r.MessageID == "":
		return object{"message_id": "", "seq": r.Seq}
	}
	return object{"message_id": r.MessageID}
}

// wantedRead is a pointer; nil for none.
func wantedRead(r projections.Ref, at int64) any {
	if r.Seq == 0 {
		return nil
	}
	o := wanted(r).(object)
	if at != 0 {
		o["at"] = since(at)
	}
	return o
}

var levels = [events.NumLevels]string{events.LevelAll: "ALL", events.LevelMentions: "MENTIONS", events.LevelNone: "NONE"}

func (w *world) askView(q *question, a *Ask) []string {
	a.Method = "GetUnread"
	v, ok := w.View(q.user, q.channel)
	if !ok {
		a.Error = "not_found"
		return []string{fmt.Sprintf("%s: there is no #%s", q.user, q.channel)}
	}
	switch q.verb {
	case "mentions":
		a.Want = object{"mentions": v.Mentions, "direct_mentions": v.DirectMentions, "first_mention": wanted(v.FirstMention)}
		return []string{script.FormatMentions(q.user, v.Mentions, v.DirectMentions, v.FirstMention)}
	case "line":
		a.Want = object{"line": nil}
		if v.LineKnown != (projections.Ref{}) {
			a.Want["line"] = object{"message_id": v.LineKnown.MessageID, "seq": v.LineKnown.Seq}
		}
		return []string{fmt.Sprintf("%s: line under %q, seq %d", q.user, v.LineKnown.MessageID, v.LineKnown.Seq)}
	}
	a.Want = object{
		"member": v.Member, "unread": v.Unread, "mentions": v.Mentions, // offline_unread no: a gateway adds to it
		"first_unread": wanted(v.FirstUnread), "last_read": wantedRead(v.LastRead, v.LastReadAt),
		"muted": v.Muted, "flagged": v.Flagged, "archived": v.Archived, "own_labels": list(v.Labels),
	}
	if v.ReadEpoch != 1 {
		a.Want["read_epoch"] = v.ReadEpoch
	}
	if v.Level != events.LevelAll || v.Until != 0 {
		a.Want["level"] = levels[v.Level]
	}
	if v.Until != 0 {
		a.Want["until"], a.Want["level_after"] = since(v.Until), levels[v.LevelAfter]
	}
	if v.IgnoreAll {
		a.Want["ignore_mention_all"] = true
	}
	if v.Line != (projections.Ref{}) {
		a.Want["line"] = object{"seq": v.Line.Seq} // by the half that was said
		if v.Line.MessageID != "" {
			a.Want["line"] = object{"message_id": v.Line.MessageID}
		}
	}
	x, _ := w.Explain(q.user, q.channel)
	site := projections.View{
		UserID: v.UserID, ChannelID: v.ChannelID, Member: v.Member, Unread: v.Unread, Mentions: v.Mentions, OfflineUnread: v.OfflineUnread,
		FirstUnread: v.FirstUnread, LastRead: v.LastRead, LastReadAt: v.LastReadAt, Muted: v.Muted, ReadEpoch: v.ReadEpoch,
	}
	return []string{
		script.FormatView(&v), strings.TrimSpace(script.FormatView(&v) + " " + script.FormatHidden(&x)), script.FormatView(&site),
	}
}

func (w *world) askThread(q *question, a *Ask) []string {
	a.Method, a.Request["page_size"] = "GetThreads", 1000
	a.Find = &Find{List: "threads", Where: object{"channel_id": q.channel, "thread_id": q.thread}}
	v, _ := w.Thread(q.user, q.channel, q.thread)
	texts := []string{script.FormatThread(&v)}
	if q.verb == "mentions" {
		texts = []string{script.FormatMentions(q.user+" in thread "+q.thread, v.Mentions, v.DirectMentions, v.FirstMention)}
	}
	if !slices.ContainsFunc(w.ThreadList(q.user), func(l projections.ThreadView) bool { return l.ChannelID == q.channel && l.ThreadID == q.thread }) {
		a.Absent, a.Want = true, nil
		none := fmt.Sprintf("%s in thread %s: not listed", q.user, q.thread)
		return append(texts, none, fmt.Sprintf("%s, %d unread", none, v.Unread))
	}
	if q.verb == "mentions" {
		a.Want = object{"mentions": v.Mentions, "direct_mentions": v.DirectMentions, "first_mention": wanted(v.FirstMention)}
		return texts
	}
	a.Want = wantedThread(&v)
	a.Want["first_unread"], a.Want["last_read"] = wanted(v.FirstUnread), wantedRead(v.LastRead, v.LastReadAt)
	if v.ReadEpoch != 1 {
		a.Want["read_epoch"] = v.ReadEpoch
	}
	return texts
}

func wantedThread(v *projections.ThreadView) object {
	return object{
		"channel_id": v.ChannelID, "thread_id": v.ThreadID, "unread": v.Unread, "mentions": v.Mentions, "muted": v.Muted,
		"last_reply": wanted(projections.Ref{MessageID: v.LastReply.MessageID, Seq: v.LastReply.Seq}),
	}
}

func (w *world) askThreads(q *question, a *Ask, now int64) []string {
	a.Method, a.Request["page_size"] = "GetThreads", 1000
	all := w.ThreadList(q.user)
	byModel := script.FormatThreads(q.user, all)
	slices.SortStableFunc(all, func(a, b projections.ThreadView) int {
		return cmp.Or(cmp.Compare(zero(a.Unread), zero(b.Unread)), cmp.Compare(b.LastReply.At, a.LastReply.At),
			cmp.Compare(a.ChannelID, b.ChannelID), cmp.Compare(a.ThreadID, b.ThreadID))
	})
	threads := []any{}
	for i := range all {
		threads = append(threads, wantedThread(&all[i]))
	}
	t := w.Totals(q.user, "", now, false)
	a.Want = object{"threads": threads, "totals": object{"thread_unread": t.ThreadUnread, "thread_mentions": t.ThreadMentions}}
	return []string{byModel, script.FormatThreads(q.user, all)}
}

// zero sorts what is unread before what is not.
func zero(unread uint32) int {
	if unread == 0 {
		return 1
	}
	return 0
}

func list(of []string) []any {
	out := []any{}
	for _, s := range of {
		out = append(out, s)
	}
	return out
}
