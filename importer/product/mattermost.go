package product

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product/internal/needs"
	"github.com/tidemark/tidemark/importer/source"
)

// Mattermost is a Mattermost server's database in PostgreSQL. All of its times are Unix
// milliseconds, and 0 means no time.
type Mattermost struct {
	Source source.Tables

	users map[string]string // id by name
}

// tables are the tables to read, in order. posts comes last, because pointers and follows
// determine which threads matter.
func (m *Mattermost) tables() []table {
	return []table{
		{"channels", "SELECT id, type, deleteat FROM channels", []string{"id", "type", "deleteat"}, m.channel},
		{"channels", "SELECT id, type, deleteat FROM channels", []string{"id", "deleteat"}, m.channelDeleted},
		{"channelmemberhistory", `SELECT channelid, userid, jointime, leavetime FROM channelmemberhistory
		UNION ALL SELECT m.channelid, m.userid, 0, NULL FROM channelmembers m WHERE NOT EXISTS (
			SELECT 1 FROM channelmemberhistory h WHERE h.channelid = m.channelid AND h.userid = m.userid AND h.leavetime IS NULL)`,
			[]string{"channelid", "userid", "jointime", "leavetime"}, m.member},
		{"channelmembers", "SELECT channelid, userid, lastviewedat, lastupdateat, notifyprops FROM channelmembers",
			[]string{"channelid", "userid", "lastviewedat", "lastupdateat"}, m.pointer},
		{"channelmembers", "SELECT channelid, userid, lastupdateat, notifyprops FROM channelmembers",
			[]string{"channelid", "userid", "lastupdateat", "notifyprops"}, m.mute},
		{"threadmemberships", threadMemberships, []string{"channelid", "postid", "userid", "lastviewed", "lastupdated"}, m.threadPointer},
		{"threadmemberships", threadMemberships, []string{"channelid", "postid", "userid", "following", "lastviewed", "lastupdated"}, m.follow},
		{"posts", `SELECT p.id, p.channelid, p.userid, p.rootid, p.createat, p.deleteat, p.originalid, p.message, p.type, c.type AS channeltype
		FROM posts p JOIN channels c ON c.id = p.channelid WHERE p.originalid = ''`,
			[]string{"id", "channelid", "userid", "rootid", "createat", "deleteat", "originalid", "message", "type", "channeltype"}, m.post},
	}
}

const threadMemberships = `SELECT p.channelid, t.postid, t.userid, t.following, t.lastviewed, t.lastupdated
	FROM threadmemberships t JOIN posts p ON p.id = t.postid`

// mattermostNeeds are the tables whose columns the queries of an import name. mattermostCountsNeeds
// are those of a comparison.
var (
	mattermostNeeds = []needs.Table{
		{Name: "users", Columns: "id username"},
		{Name: "channels", Columns: "id type deleteat"},
		{Name: "channelmemberhistory", Columns: "channelid userid jointime leavetime"},
		{Name: "channelmembers", Columns: "channelid userid lastviewedat lastupdateat notifyprops"},
		{Name: "posts", Columns: "id channelid userid rootid createat deleteat originalid message type"},
		{Name: "threadmemberships", Columns: "postid userid following lastviewed lastupdated"},
	}
	mattermostCountsNeeds = []needs.Table{
		{Name: "channels", Columns: "id totalmsgcountroot", Since: map[string]string{"totalmsgcountroot": "5.35"}},
		{
			Name: "channelmembers", Columns: "channelid userid msgcountroot mentioncountroot",
			Since: map[string]string{"msgcountroot": "5.35", "mentioncountroot": "5.35"},
		},
		{Name: "posts", Columns: "id channelid rootid createat deleteat"},
		{Name: "threadmemberships", Columns: "postid userid following lastviewed unreadmentions"},
	}
)

// Events reads the tables.
func (m *Mattermost) Events(ctx context.Context, p *importer.Problems, emit func(importer.Origin, *importer.Event) error) error {
	if _, err := needs.Check(ctx, m.Source, "Mattermost", mattermostNeeds); err != nil {
		return err
	}
	m.users = map[string]string{}
	found, err := m.Source.Rows(ctx, "users", "SELECT id, username FROM users", func(row *source.Row) error {
		m.users[strings.ToLower(row.Text("username"))] = row.Text("id")
		return nil
	})
	if err != nil {
		return err
	}
	if !found {
		return errors.New("the source has no table users: is it a Mattermost database?")
	}
	r := reading{m.Source, p, emit}
	return r.all(ctx, m.tables(), "a Mattermost database")
}

func (*Mattermost) channel(f fields, e *importer.Event) bool {
	kind := f.Text("type")
	*e = importer.Event{Kind: importer.KindChannel, Channel: f.Text("id"), Direct: kind == "D" || kind == "G"}
	return true
}

func (*Mattermost) channelDeleted(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindChannelDeleted, Channel: f.Text("id"), At: f.at("deleteat")}
	return e.At > 0
}

func (*Mattermost) member(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMember, Channel: f.Text("channelid"), User: f.Text("userid"), At: f.at("jointime"), Until: f.at("leavetime")}
	return true
}

// pointer maps the time up to which the user has viewed all posts. 0 means never.
func (*Mattermost) pointer(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindPointer, Channel: f.Text("channelid"), User: f.Text("userid"), At: f.at("lastviewedat"), Until: f.at("lastupdateat"),
	}
	return e.At > 0
}

// mute maps a channel that the user has muted.
func (*Mattermost) mute(f fields, e *importer.Event) bool {
	var props struct {
		MarkUnread string `json:"mark_unread"`
	}
	text := f.Text("notifyprops")
	if text == "" {
		return false
	}
	if err := json.Unmarshal([]byte(text), &props); err != nil {
		f.problems.Add(f.origin(), "notifyprops is no JSON object: taken as not muted", text)
		return false
	}
	*e = importer.Event{Kind: importer.KindMute, Channel: f.Text("channelid"), User: f.Text("userid"), At: f.at("lastupdateat")}
	return props.MarkUnread == "mention"
}

func (*Mattermost) threadPointer(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindPointer, Channel: f.Text("channelid"), User: f.Text("userid"), Thread: f.Text("postid"),
		At: f.at("lastviewed"), Until: f.at("lastupdated"),
	}
	return e.At > 0
}

// follow maps a followed thread. Replies after the last view count, whenever the user began to
// follow the thread.
func (*Mattermost) follow(f fields, e *importer.Event) bool {
	*e = importer.Event{
		Kind: importer.KindFollow, Channel: f.Text("channelid"), User: f.Text("userid"), Thread: f.Text("postid"), At: f.at("lastviewed"),
	}
	if !f.truth("following") {
		e.Kind, e.At = importer.KindUnfollow, f.at("lastupdated")
	}
	return true
}

// silentPosts are the post types that do not raise a channel's unread count in Mattermost. Other
// system messages do.
var silentPosts = []string{
	"system_join_leave", "system_add_remove", "system_join_channel", "system_leave_channel", "system_join_team", "system_leave_team",
	"system_add_to_channel", "system_remove_from_channel", "system_add_to_team", "system_remove_from_team",
}

func (m *Mattermost) post(f fields, e *importer.Event) bool {
	if f.Text("originalid") != "" {
		return false // the text before an edit
	}
	*e = importer.Event{
		Kind: importer.KindPost, Channel: f.Text("channelid"), ID: f.Text("id"), User: f.Text("userid"), Thread: f.Text("rootid"),
		At: f.at("createat"), Until: f.at("deleteat"), Text: f.Text("message"), Silent: slices.Contains(silentPosts, f.Text("type")),
	}
	e.Mentions, e.MentionAll = m.mentioned(e.Text, e.User)
	e.MentionAll = e.MentionAll || f.Text("channeltype") == "D" // a direct channel counts each message as a mention
	return true
}

var mention = regexp.MustCompile(`@[a-zA-Z0-9._-]+`)

// mentioned returns the users that a text names. It ignores the keywords that users can set.
func (m *Mattermost) mentioned(text, author string) (ids []string, all bool) {
	if !strings.Contains(text, "@") {
		return nil, false
	}
	for _, name := range mention.FindAllString(text, -1) {
		name = strings.ToLower(name[1:])
		if name == "channel" || name == "all" || name == "here" {
			all = true
			continue
		}
		id, known := m.users[name]
		if !known {
			id, known = m.users[strings.TrimRight(name, "._-")] // punctuation after the name
		}
		if known && id != author && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, all
}

// Counts reads the numbers that a user sees with collapsed reply threads: the number of a channel
// without its replies, and the number of each followed thread. The server stores the first and
// computes the second.
func (m *Mattermost) Counts(ctx context.Context, users []string, p *importer.Problems, emit func(importer.Count) error) error {
	if _, err := needs.Check(ctx, m.Source, "Mattermost", mattermostCountsNeeds); err != nil {
		return err
	}
	members, following := "", ""
	if len(users) > 0 {
		members, following = " WHERE m.userid IN ("+literals(users)+")", " AND t.userid IN ("+literals(users)+")"
	}
	_, err := counts{m.Source, p, [4]string{"channelid", "userid", "threadid", "mentions"}}.read(ctx, `
		SELECT m.channelid, m.userid, NULL AS threadid, c.totalmsgcountroot - m.msgcountroot AS unread, m.mentioncountroot AS mentions
		FROM channelmembers m JOIN channels c ON c.id = m.channelid`+members+`
		UNION ALL
		SELECT p.channelid, t.userid, t.postid,
			(SELECT count(*) FROM posts r WHERE r.rootid = t.postid AND r.createat > t.lastviewed AND r.deleteat = 0), t.unreadmentions
		FROM threadmemberships t JOIN posts p ON p.id = t.postid WHERE t.following`+following, users, emit)
	return err
}
