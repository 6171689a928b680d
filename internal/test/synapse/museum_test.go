package synapse

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/test/matrix"
	"github.com/tidemark/tidemark/internal/test/script"
)

// story is a story of package museum that users of Matrix can play.
type story struct {
	name    string
	records []script.Record
	left    int // records that are not played yet
	room    *room
	users   map[string]string
	ids     map[string]string
}

// longest is the largest number of records in a story.
const longest = 40

// block matches a story in a file: its events, a line of dashes, and answers.
var block = regexp.MustCompile(`(?s)(?:^|\n)story\n(.*?)\n----\n`)

// museum returns the stories that users of Matrix can play.
func museum(t *testing.T) (stories []*story) {
	t.Helper()
	files, err := filepath.Glob("../museum/testdata/*/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range block.FindAllStringSubmatch(string(text), -1) {
			lines := slices.DeleteFunc(strings.Split(found[1], "\n"), func(l string) bool { return strings.HasPrefix(l, "?") || strings.HasPrefix(l, "#") })
			var p script.Parser
			records, err := p.Parse(strings.Join(lines, "\n"))
			if err == nil && len(records) <= longest && playable(records) {
				stories = append(stories, &story{name: file, records: records, left: len(records), users: map[string]string{}, ids: map[string]string{}})
			}
		}
	}
	return stories
}

// playable reports whether Matrix has every event of a story, and the story has one room.
func playable(records []script.Record) bool {
	threads, authors := map[string]string{}, map[string]string{}
	if len(records) == 0 || records[0].Message == nil || records[0].Message.Kind != events.KindMembersJoined {
		return false
	}
	for _, r := range records {
		switch {
		case r.Message != nil:
			m := r.Message
			id := string(m.MessageID)
			switch m.Kind {
			case events.KindMembersJoined:
				if m.CountHistory {
					return false
				}
			case events.KindMembersLeft:
			case events.KindMessagePosted:
				if _, twice := authors[id]; twice || len(m.SenderID) == 0 || m.Broadcast || len(m.HiddenFrom) > 0 || m.MarksRead != events.NotStated || m.MemberCount > 0 {
					return false
				}
				if _, known := authors[string(m.ThreadID)]; len(m.ThreadID) > 0 && !known {
					return false
				}
				threads[id], authors[id] = string(m.ThreadID), string(m.SenderID)
			case events.KindMessageEdited, events.KindMessageDeleted:
				if _, known := authors[id]; !known || m.KeepMentions || m.Seq > 0 {
					return false
				}
				if m.Kind == events.KindMessageDeleted {
					threads[id] = "" // Synapse forgets the thread of what was redacted
				}
			default:
				return false
			}
			if string(m.ChannelID) != script.DefaultChannel {
				return false
			}
		case r.Read != nil:
			e := r.Read
			_, known := authors[string(e.MessageID)]
			switch {
			case string(e.ChannelID) != script.DefaultChannel:
				return false
			case e.Kind == events.KindChannelMuted && e.Muted:
			case e.Kind != events.KindReadUpTo || e.Target != events.TargetMessageID || e.ReadEpoch != 0 || !known:
				return false
			case !e.WithThreads && threads[string(e.MessageID)] != string(e.ThreadID):
				return false // Synapse refuses a receipt for an event that is not in the thread
			}
		default:
			return false
		}
	}
	return true
}

// next plays the next record of a story, and reports whether that was the last one.
func (w *world) next(s *story) (last bool) {
	w.t.Helper()
	rec := s.records[len(s.records)-s.left]
	s.left--
	w.play(s, &rec)
	return s.left == 0
}

func (w *world) play(s *story, rec *script.Record) {
	w.t.Helper()
	if e := rec.Read; e != nil {
		user := w.named(s, string(e.UserID))
		if e.Kind == events.KindChannelMuted {
			w.do(act{kind: mutes, room: s.room, user: user, rule: "room"})
			return
		}
		a := act{kind: reads, room: s.room, user: user, of: s.ids[string(e.MessageID)], private: e.Private}
		if !e.WithThreads {
			if a.thread = s.ids[string(e.ThreadID)]; a.thread == "" {
				a.thread = matrix.Main
			}
		}
		w.do(a)
		return
	}
	m := rec.Message
	id := s.ids[string(m.MessageID)]
	var mentions []string
	if m.Kind == events.KindMessagePosted || m.Kind == events.KindMessageEdited {
		for _, user := range m.IDs {
			mentions = append(mentions, w.named(s, string(user)))
		}
	}
	switch m.Kind {
	case events.KindMembersJoined:
		for _, name := range m.IDs {
			switch user := w.named(s, string(name)); {
			case s.room == nil:
				s.room = w.create(user)
			case !s.room.in[user]:
				w.do(act{kind: joins, room: s.room, user: user})
			}
		}
	case events.KindMembersLeft:
		for _, name := range m.IDs {
			w.do(act{kind: leaves, room: s.room, user: w.named(s, string(name))})
		}
	case events.KindMessagePosted:
		s.ids[string(m.MessageID)] = w.do(act{
			kind: posts, room: s.room, user: w.named(s, string(m.SenderID)), thread: s.ids[string(m.ThreadID)], silent: m.Silent, all: m.MentionAll, mentions: mentions,
		})
	case events.KindMessageEdited:
		w.do(act{kind: edits, room: s.room, user: w.messages[id].author, of: id, mentions: mentions, all: m.MentionAll})
	case events.KindMessageDeleted:
		w.do(act{kind: redacts, room: s.room, user: w.messages[id].author, of: id})
	}
}

// named returns the user who plays a person in a story.
func (w *world) named(s *story, name string) string {
	if s.users[name] == "" {
		s.users[name] = w.names[len(s.users)%len(w.names)]
	}
	return s.users[name]
}

// Users of Matrix can play enough stories of package museum.
func TestStoriesCanBePlayed(t *testing.T) {
	stories := museum(t)
	records := 0
	for _, s := range stories {
		records += len(s.records)
	}
	t.Logf("%d stories, %d records", len(stories), records)
	if len(stories) < 20 {
		t.Errorf("only %d stories can be played", len(stories))
	}
}
