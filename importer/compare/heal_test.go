package compare

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/importer/product"
)

// Statements come in transactions of 1,000. They change only numbers that are wrong in the product.
func TestHealing(t *testing.T) {
	var out bytes.Buffer
	h := &Healing{To: &out, Statement: func(l *Line) (string, bool) { return "UPDATE n SET x = 1; \n", l.Thread == "" }}
	for i := range 2100 {
		for _, b := range Buckets {
			if err := h.Add(&Line{Pair{fmt.Sprint("u", i), "c", ""}, with(2, 0), with(1, 0), b, "why", 0}); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := h.Add(&Line{Pair{"u", "c", "t"}, with(2, 0), with(1, 0), TheirsWrong, "why", 0}); err != nil {
		t.Fatal(err)
	}
	if err := h.End(); err != nil {
		t.Fatal(err)
	}
	if h.Healed != 2100 || h.Left != 1 {
		t.Errorf("%d healed, %d left", h.Healed, h.Left)
	}
	parts := strings.Split(out.String(), "BEGIN;\n")[1:]
	if len(parts) != 3 {
		t.Fatalf("%d transactions", len(parts))
	}
	for i, want := range []int{1000, 1000, 100} {
		if n := strings.Count(parts[i], "UPDATE n SET x = 1;\n"); n != want || !strings.HasSuffix(parts[i], ";\nCOMMIT;\n") || strings.Count(parts[i], "\n-- ")+1 != want {
			t.Errorf("transaction %d: %d statements", i, n)
		}
	}
	if !strings.HasPrefix(parts[0], "-- u0 c: theirs 2, ours 1: theirs_wrong: why\nUPDATE") {
		t.Errorf("%.80q", parts[0])
	}
}

// An id cannot end its comment or its literal.
func TestHostileIDs(t *testing.T) {
	l := &Line{Pair{"o'; DROP TABLE x; --", "c\nDROP TABLE y;", ""}, with(2, 0), with(1, 0), TheirsWrong, "a\u2028b", 0}
	heal, err := TableHeal(product.Mapping{"heal": "UPDATE m SET n = {unread} WHERE c = {channel_id} AND u = {user_id} AND n = {theirs_unread}", "heal_thread": "-"})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	h := &Healing{To: &out, Statement: heal}
	if err := h.Add(l); err != nil {
		t.Fatal(err)
	}
	want := "BEGIN;\n-- o'; DROP TABLE x; -- c DROP TABLE y;: theirs 2, ours 1: theirs_wrong: a b\n" +
		"UPDATE m SET n = 1 WHERE c = 'c\nDROP TABLE y;' AND u = 'o''; DROP TABLE x; --' AND n = 2;\n"
	if out.String() != want {
		t.Errorf("%s", out.String())
	}
}

func TestTemplatesAreChecked(t *testing.T) {
	for want, mapping := range map[string]product.Mapping{
		"the mapping has no heal":              {},
		"heal has the placeholder {user}":      {"heal": "UPDATE x SET n = '{}' WHERE u = {user}"},
		"heal_thread has the placeholder {id}": {"heal": "UPDATE x", "heal_thread": "{id}"},
	} {
		if _, err := TableHeal(mapping); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", mapping, err)
		}
	}
	heal, err := TableHeal(product.Mapping{"heal": "SELECT {unread}, {mentions}"})
	if err != nil {
		t.Fatal(err)
	}
	if s, ok := heal(&Line{Theirs: Numbers{}, Ours: Numbers{Unread: 4}}); !ok || s != "SELECT 4, NULL" {
		t.Errorf("%q, %v", s, ok)
	}
	if s, ok := heal(&Line{Pair: Pair{Thread: "t"}}); ok {
		t.Errorf("a thread without a template: %q", s)
	}
	if s, ok := MattermostHeal(&Line{Pair: Pair{Thread: "t"}}); ok {
		t.Errorf("a thread without mentions: %q", s)
	}
}
