package product

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/tidemark/tidemark/importer"
	"github.com/tidemark/tidemark/importer/product/internal/markup"
	"github.com/tidemark/tidemark/importer/product/internal/needs"
	"github.com/tidemark/tidemark/importer/source"
)

// Tinode is a Tinode server's database in PostgreSQL. Tinode numbers the messages of a topic
// without gaps, and so does Tidemark: a message that is gone becomes a silent one, so that both
// numbers are the same. The ids of users are those of the database: clients see them encrypted.
type Tinode struct{ Source source.Tables }

// tinodeTables are the tables to read, in order. Users who read a group as a channel have a
// subscription of another name.
var tinodeTables = []table{
	{"topics", tinodeTopics, []string{"name"}, tinodeTopic},
	{"topics", tinodeTopics, []string{"name", "state", "stateat"}, tinodeTopicDeleted},
	{"subscriptions", tinodeSubscriptions, []string{"topic", "userid", "createdat", "deletedat"}, tinodeMember},
	{"subscriptions", tinodeSubscriptions, []string{"topic", "userid", "readseqid", "updatedat", "deletedat"}, tinodePointer},
	{"subscriptions", tinodeSubscriptions, []string{"topic", "userid", "modewant", "updatedat", "deletedat"}, tinodeMute},
	{"dellog", `SELECT d.topic, d.deletedfor, n AS seqid, m.createdat FROM dellog d CROSS JOIN LATERAL generate_series(d.low, greatest(d.low, d.hi - 1)) n
			JOIN messages m ON m.topic = d.topic AND m.seqid = n AND m.deletedat IS NULL AND m."from" <> d.deletedfor
			JOIN subscriptions s ON ` + tinodeTopicOf + ` = d.topic AND s.userid = d.deletedfor AND n > coalesce(s.readseqid, 0)
		WHERE d.deletedfor <> 0`, []string{"topic", "deletedfor", "seqid", "createdat"}, tinodeSingle},
	{"messages", `SELECT t.name AS topic, n AS seqid, m."from", m.deletedat, m.head, m.content, m.seqid IS NULL AS missing,
			greatest(t.createdat, max(m.createdat) OVER (PARTITION BY t.name ORDER BY n)) AS at
		FROM topics t CROSS JOIN LATERAL generate_series(1, ` + tinodeHead + `) n LEFT JOIN messages m ON m.topic = t.name AND m.seqid = n`,
		[]string{"topic", "seqid", "from", "at", "deletedat", "head", "content", "missing"}, tinodePost},
}

const (
	tinodeTopicOf       = "CASE WHEN s.topic LIKE 'chn%' THEN 'grp' || substr(s.topic, 4) ELSE s.topic END"
	tinodeHead          = "greatest(t.seqid, (SELECT max(x.seqid) FROM messages x WHERE x.topic = t.name))"
	tinodeTopics        = "SELECT name, state, stateat FROM topics"
	tinodeSubscriptions = "SELECT " + tinodeTopicOf + ` AS topic, s.userid, s.createdat, s.updatedat, s.deletedat, least(s.readseqid, ` + tinodeHead + `) AS readseqid, s.modewant
		FROM subscriptions s JOIN topics t ON t.name = ` + tinodeTopicOf
)

// tinodeNeeds are the tables whose columns the queries name.
var tinodeNeeds = []needs.Table{
	{Name: "topics", Columns: "name createdat state stateat seqid", Since: map[string]string{"state": "0.16", "stateat": "0.16"}},
	{Name: "subscriptions", Columns: "topic userid createdat updatedat deletedat readseqid modewant"},
	{Name: "messages", Columns: "topic seqid from createdat deletedat head content"},
	{Name: "dellog", Columns: "topic deletedfor low hi"},
}

// Events reads the tables.
func (t *Tinode) Events(ctx context.Context, p *importer.Problems, emit func(importer.Origin, *importer.Event) error) error {
	if _, err := needs.Check(ctx, t.Source, "Tinode", tinodeNeeds); err != nil {
		return err
	}
	r := reading{t.Source, p, emit}
	return r.all(ctx, tinodeTables, "the database of a Tinode server")
}

func tinodeTopic(f fields, e *importer.Event) bool {
	name := f.Text("name")
	*e = importer.Event{Kind: importer.KindChannel, Channel: name, Direct: strings.HasPrefix(name, "p2p") || strings.HasPrefix(name, "slf")}
	return true
}

// tinodeDeleted is the state of a topic that was deleted.
const tinodeDeleted = "20"

func tinodeTopicDeleted(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindChannelDeleted, Channel: f.Text("name"), At: f.at("stateat")}
	return f.Text("state") == tinodeDeleted && e.At > 0
}

func tinodeMember(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMember, Channel: f.Text("topic"), User: f.Text("userid"), At: f.at("createdat"), Until: f.at("deletedat")}
	return true
}

func tinodePointer(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindPointer, Channel: f.Text("topic"), User: f.Text("userid"), Seq: f.seq("readseqid"), Until: f.at("updatedat")}
	return e.Seq > 0 && f.Text("deletedat") == ""
}

// tinodeMute maps the mode that the user has chosen: without P they want no notifications.
func tinodeMute(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindMute, Channel: f.Text("topic"), User: f.Text("userid"), At: f.at("updatedat")}
	mode := f.Text("modewant")
	return mode != "" && !strings.Contains(mode, "P") && f.Text("deletedat") == ""
}

// tinodeSingle maps a message that the user has deleted for themselves.
func tinodeSingle(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindSingle, Channel: f.Text("topic"), User: f.Text("deletedfor"), ID: f.Text("seqid"), At: f.at("createdat")}
	return true
}

// tinodePost maps a number of a topic. In Tinode, an edit is a message of its own that replaces
// another one.
func tinodePost(f fields, e *importer.Event) bool {
	*e = importer.Event{Kind: importer.KindPost, Channel: f.Text("topic"), ID: f.Text("seqid"), At: f.at("at"), Until: f.at("deletedat")}
	if f.truth("missing") {
		e.Silent = true
		return true
	}
	if e.User = f.Text("from"); e.User == "0" {
		e.User, e.Silent = "", true
	}
	var head struct {
		Replace json.RawMessage `json:"replace"`
	}
	if text := f.Text("head"); text != "" && json.Unmarshal([]byte(text), &head) != nil {
		f.problems.Add(f.origin(), "the head of a message is no JSON object: left out", e.Channel+" "+e.ID)
	}
	e.Silent = e.Silent || len(head.Replace) > 0
	e.Text = markup.TinodeText(f.Text("content"))
	return true
}

// Counts computes the numbers as Tinode's clients do: the numbers after the pointer.
func (t *Tinode) Counts(ctx context.Context, users []string, p *importer.Problems, emit func(importer.Count) error) error {
	if _, err := needs.Check(ctx, t.Source, "Tinode", tinodeNeeds); err != nil {
		return err
	}
	of := ""
	if len(users) > 0 {
		of = " AND s.userid::text IN (" + literals(users) + ")"
	}
	_, err := counts{t.Source, p, [4]string{"topic", "userid", "", ""}}.read(ctx, "SELECT "+tinodeTopicOf+` AS topic, s.userid, t.seqid - coalesce(s.readseqid, 0) AS unread
		FROM subscriptions s JOIN topics t ON t.name = `+tinodeTopicOf+" WHERE s.deletedat IS NULL"+of, users, emit)
	return err
}
