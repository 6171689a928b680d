package product

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// mattermost is a small server's database: the tables and columns that an import reads.
const mattermost = `
CREATE TYPE channel_type AS ENUM ('P', 'G', 'O', 'D');
CREATE TABLE users (id varchar(26) PRIMARY KEY, username varchar(64));
CREATE TABLE channels (id varchar(26) PRIMARY KEY, type channel_type, deleteat bigint);
CREATE TABLE channelmemberhistory (channelid varchar(26), userid varchar(26), jointime bigint, leavetime bigint);
CREATE TABLE channelmembers (channelid varchar(26), userid varchar(26), lastviewedat bigint, lastupdateat bigint, notifyprops jsonb);
CREATE TABLE posts (id varchar(26) PRIMARY KEY, createat bigint, deleteat bigint, userid varchar(26), channelid varchar(26), rootid varchar(26),
	originalid varchar(26), message varchar(65535), type varchar(26));
CREATE TABLE threadmemberships (postid varchar(26), userid varchar(26), following boolean, lastviewed bigint, lastupdated bigint);
INSERT INTO users VALUES ('u1', 'ann'), ('u2', 'Bob'), ('u3', 'cem');
INSERT INTO channels VALUES ('c1', 'O', 0), ('d1', 'D', 0), ('old', 'P', 1700000009000);
INSERT INTO channelmemberhistory VALUES ('c1', 'u1', 1700000000000, NULL), ('c1', 'u3', 1700000000000, 1700000005000);
INSERT INTO channelmembers VALUES ('c1', 'u1', 1700000002000, 1700000004000, '{"mark_unread": "mention"}'), ('c1', 'u2', 0, 1700000004000, '{"mark_unread": "all"}');
INSERT INTO posts VALUES
	('p1', 1700000001000, 0, 'u1', 'c1', '', '', 'hi @bob, @ann and @nobody', ''),
	('p2', 1700000002000, 1700000003000, 'u2', 'c1', 'p1', '', 'look @here', ''),
	('p3', 1700000003000, 1700000003000, 'u2', 'c1', '', 'p1', 'before the edit', ''),
	('p4', 1700000004000, 0, 'u3', 'c1', '', '', 'cem left', 'system_leave_channel'),
	('p5', 1700000004500, 0, 'u3', 'c1', '', '', 'the header', 'system_header_change'),
	('p6', 1700000005000, 0, 'u1', 'd1', '', '', 'psst, @cem.', '');
INSERT INTO threadmemberships VALUES ('p1', 'u2', true, 1700000001500, 1700000002500), ('p1', 'u3', false, 0, 1700000002600);
`

// wantMattermost has the events of that server.
var wantMattermost = []string{
	"channel c1", "channel d1 direct", "channel old", "ended old at 2023-11-14T22:13:29Z",
	"member c1 u1 at 2023-11-14T22:13:20Z", "member c1 u3 at 2023-11-14T22:13:20Z until 2023-11-14T22:13:25Z", "member c1 u2",
	"pointer c1 u1 at 2023-11-14T22:13:22Z until 2023-11-14T22:13:24Z", "mute c1 u1 at 2023-11-14T22:13:24Z",
	"pointer c1 u2 thread p1 at 2023-11-14T22:13:21.5Z until 2023-11-14T22:13:22.5Z",
	"follow c1 u2 thread p1 at 2023-11-14T22:13:21.5Z", "unfollow c1 u3 thread p1 at 2023-11-14T22:13:22.6Z",
	"post c1 u1 id p1 at 2023-11-14T22:13:21Z text hi @bob, @ann and @nobody mentions u2",
	"post c1 u2 id p2 thread p1 at 2023-11-14T22:13:22Z until 2023-11-14T22:13:23Z text look @here all",
	"post c1 u3 id p4 at 2023-11-14T22:13:24Z text cem left silent", "post c1 u3 id p5 at 2023-11-14T22:13:24.5Z text the header",
	"post d1 u1 id p6 at 2023-11-14T22:13:25Z text psst, @cem. mentions u3 all",
}

func TestMattermost(t *testing.T) {
	dsn := testkit.Postgres(t)
	testkit.SQL(t, dsn, mattermost)
	db, err := source.OpenPostgres(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	got, problems, err := events(t, &Mattermost{Source: db})
	if err != nil || len(problems) > 0 {
		t.Fatal(err, problems)
	}
	if !slices.Equal(got, wantMattermost) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(wantMattermost, "\n"))
	}
}

// The database of another product is refused with a reason, and malformed fields do not end an
// import.
func TestMattermostOfAnotherShape(t *testing.T) {
	for want, files := range map[string]map[string]string{
		"no table users": {"posts.ndjson": "{}"},
		"no table posts": {
			"users.ndjson": `{"id":"u1","username":"ann"}`, "channels.ndjson": "", "channelmemberhistory.ndjson": "", "channelmembers.ndjson": "",
			"threadmemberships.ndjson": "",
		},
		"channels has no column type": {"users.ndjson": "", "channels.ndjson": `{"id":"c1","deleteat":0}`},
	} {
		if _, _, err := events(t, &Mattermost{Source: folder(t, files)}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want %q: %v", want, err)
		}
	}
	got, problems, err := events(t, &Mattermost{Source: folder(t, map[string]string{
		"users.ndjson": "", "channels.ndjson": "", "channelmemberhistory.ndjson": "", "threadmemberships.ndjson": "", "posts.ndjson": "",
		"channelmembers.ndjson": `{"channelid":"c1","userid":"u1","lastviewedat":-3,"lastupdateat":"soon","notifyprops":"{"}`,
	})})
	if err != nil || len(got) != 0 || len(problems) != 2 {
		t.Errorf("%v, %v, %+v", err, got, problems)
	}
}
