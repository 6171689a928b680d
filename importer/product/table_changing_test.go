package product

import (
	"os"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/importer/source"
	"github.com/tidemark/tidemark/internal/test/docs"
)

// The mapping of the documentation says what a bridge follows. For wrong mappings the error says
// what is wrong.
func TestParseChanging(t *testing.T) {
	text, err := os.ReadFile("../../docs/import/table.yml")
	if err != nil {
		t.Fatal(err)
	}
	parse := func(text string) (map[string]Changing, error) {
		m, err := ParseMapping("m.yml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return ParseChanging("m.yml", []byte(text), m)
	}
	all, err := parse(string(text))
	if err != nil || len(ChangingTables(all)) != 4 || ChangingTables(all)[1].Table != "room_members" || all["room_members"].By["channel_id"] != "room_id" {
		t.Fatalf("%v, %v", all, err)
	}
	const queries = "messages: SELECT\nmembers: SELECT\npointers: SELECT\nlive:\n  m: {gives: [messages], by: {message_id: id}}\n"
	if all, err := parse("messages: SELECT\n"); all != nil || err != nil {
		t.Errorf("without live: %v, %v", all, err)
	}
	for line, want := range map[string]string{
		"  x: {gives: [], by: {}}":                               "m.yml: live: x gives nothing",
		"  x: {gives: [counts], by: {channel_id: c}}":            `m.yml: live: x gives "counts": want channels, `,
		"  x: {gives: [mutes], by: {channel_id: c, user_id: u}}": "m.yml: live: x gives mutes, which has no SQL",
		"  x: {gives: [members], by: {channel_id: c}}":           "m.yml: live: x gives members, and by lacks user_id",
		"  x: {gives: [pointers], by: {user_id: u}}":             "m.yml: live: x gives pointers, and by lacks channel_id or thread_id",
		"  x: {gives: [members], by: {channel_id: c, owner: o}}": `m.yml: live: x has owner: "o" in by`,
		"  x: {edits: [members], by: {message_id: m}}":           "m.yml: live: x has edits: [members]: only messages",
		"  x: {edits: [messages], by: {channel_id: c}}":          "m.yml: live: x has edits: [messages]: only messages are edited by other tables, and by says which one",
		"  x: [1]": "a line of live is `TABLE: {gives: [messages]",
		"  m: {gives: [members], by: {channel_id: c, user_id: u}}\n": "already defined",
	} {
		if _, err := ParseChanging("m.yml", []byte(queries+line), Mapping{"messages": "S", "members": "S", "pointers": "S"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: want %q: %v", line, want, err)
		}
	}
	if _, err := parse("messages: S\nmembers: S\nlive:\n  x: {gives: [members], by: {channel_id: c, user_id: u}}\n"); err == nil || !strings.Contains(err.Error(), "no table gives messages") {
		t.Error(err)
	}
}

// The parts of a mapping that docs/import/table.md shows are those of its mapping, and a bridge
// understands them.
func TestParseChangingOfTheDocument(t *testing.T) {
	var texts [2]string
	for i, name := range []string{"table.yml", "table.md"} {
		b, err := os.ReadFile("../../docs/import/" + name)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(b)
	}
	shown := docs.Of(docs.Blocks("docs/import/table.md", texts[1]), "yaml")
	if len(shown) != 2 || !strings.HasSuffix(texts[0], "\n"+shown[0]) {
		t.Fatalf("table.yml does not end with the first of %q", shown)
	}
	text := []byte(texts[0] + shown[1])
	m, err := ParseMapping("m.yml", text)
	if err != nil {
		t.Fatal(err)
	}
	all, err := ParseChanging("m.yml", text, m)
	if err != nil || len(all["mentions"].Edits) != 1 || len(all) != 5 {
		t.Errorf("%v, %v", all, err)
	}
}

// A row that replaces its table has all of its former fields, and takes large, unchanged values
// from the table.
func TestRowsInThePlaceOfTheirTable(t *testing.T) {
	live := &TableLive{types: map[string]map[string]string{"m": {"id": "bigint", "at": "timestamp without time zone", "who": "bigint[]"}}}
	by := map[string]string{"message_id": "id"}
	for want, row := range map[string]*source.Row{
		`WITH "m" AS (SELECT changed.* FROM pg_catalog.jsonb_populate_record(NULL::"m", '{"at":"2026-01-01 00:00:00.000","id":"1","who":[2,3]}') AS changed) `: source.NewRow("m", 1, "id", "1",
			"at", "1767225600000000", "who", "[2,3]"),
		`(SELECT base FROM "m" AS base WHERE true AND base."id" = '1' LIMIT 1), '{"at":"2026-01-01","id":"1"}')`: source.NewRow("m", 1, "id", "1", "at", "2026-01-01"),
		`'{"at":"","id":"it''s","who":"{2}"}'`: source.NewRow("m", 1, "id", "it's", "at", "", "who", "{2}"),
	} {
		if got := live.asOf(row, by); !strings.Contains(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A row that replaces its table has the values of its columns, including documents, whose fields a
// query can read.
func TestRowInThePlaceOfItsTable(t *testing.T) {
	live := &TableLive{types: map[string]map[string]string{"m": {"head": "json", "data": "jsonb", "tags": "text[]", "at": "timestamp without time zone", "body": "text"}}}
	got := live.asOf(source.NewRow("m", 1, "head", `{"to":1}`, "data", `"words"`, "tags", `["a"]`, "at", "1700000000000", "body", `{"to":1}`), nil)
	const want = `'{"at":"2023-11-14 22:13:20.000","body":"{\"to\":1}","data":"words","head":{"to":1},"tags":["a"]}'`
	if !strings.Contains(got, want) {
		t.Errorf("%s\nwant %s", got, want)
	}
}
