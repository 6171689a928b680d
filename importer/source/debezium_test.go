package source

import (
	"strings"
	"testing"
	"time"
)

// Envelopes of each kind are decoded with and without their schema.
func TestDecodeEnvelope(t *testing.T) {
	const from = `"source":{"connector":"postgresql","ts_ms":1767225600123,"snapshot":"false","sequence":"[\"100\",\"200\"]","schema":"public","table":"m","txId":740,"lsn":200}`
	for name, c := range map[string]struct {
		value string
		kind  ChangeKind
		row   string
	}{
		"insert":          {`{"before":null,"after":{"id":9007199254740993,"body":"it is","ok":true,"none":null,"ids":[1,2]},` + from + `,"op":"c"}`, Inserted, "body=it is id=9007199254740993 ids=[1,2] none= ok=true"},
		"with its schema": {`{"schema":{"type":"struct"},"payload":{"before":null,"after":{"id":1},` + from + `,"op":"u"}}`, Updated, "id=1"},
		"large as before": {`{"before":null,"after":{"id":1,"body":"__debezium_unavailable_value"},` + from + `,"op":"u"}`, Updated, "id=1"},
		"removed":         {`{"before":{"id":1,"body":null},"after":null,` + from + `,"op":"d"}`, Removed, "body= id=1"},
		"truncated":       {`{"before":null,"after":null,` + from + `,"op":"t"}`, 0, ""},
	} {
		e, err := DecodeEnvelope([]byte(c.value))
		if err != nil || e.Kind != c.kind || e.Row.String() != c.row || e.Row.Table != "m" || e.TxID != 740 || e.After != 100 || e.At != 200 || e.Snapshot != "" ||
			!e.Time.Equal(time.UnixMilli(1767225600123)) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
	if e, err := DecodeEnvelope([]byte(`{"after":{"id":1},` + strings.Replace(from, `"false"`, `"last"`, 1) + `,"op":"r"}`)); err != nil || e.Snapshot != "last" || e.Kind != Inserted {
		t.Errorf("read first: %+v, %v", e, err)
	}
	if e, err := DecodeEnvelope([]byte(`{` + from + `,"op":"m","message":{"prefix":"x"}}`)); err != nil || e.Kind != 0 || e.Row != nil {
		t.Errorf("a message: %+v, %v", e, err)
	}
	for _, tombstone := range []string{"", `{"schema":null,"payload":null}`} {
		if e, err := DecodeEnvelope([]byte(tombstone)); e != nil || err != nil {
			t.Errorf("a tombstone: %+v, %v", e, err)
		}
	}
	for _, bad := range []string{"x", `{"id":1}`, `{"op":"c","source":{"connector":"mysql","table":"m"},"after":{}}`, `{"op":"c",` + from + `}`, `[]`} {
		if _, err := DecodeEnvelope([]byte(bad)); err == nil || !strings.Contains(err.Error(), "no change that Debezium's connector for PostgreSQL has written") {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

// A moment recognizes transactions by the lower half of their numbers.
func TestMoment(t *testing.T) {
	for text, c := range map[string]struct{ has, lacks []uint32 }{
		"740:745:740,742":                  {[]uint32{1, 739, 741, 743, 744}, []uint32{740, 742, 745, 746, 2_000_000_000}},
		"100:100:":                         {[]uint32{3, 99}, []uint32{100, 101}},
		"8589934590:8589934594:8589934592": {[]uint32{4294967294, 4294967295, 1, 3_000_000_000}, []uint32{0, 2, 3}},
		"12884901887:12884901887:":         {[]uint32{4294967294, 3_000_000_000}, []uint32{4294967295, 0, 7}},
	} {
		m, err := ParseMoment(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range c.has {
			if !m.Has(id) {
				t.Errorf("%s lacks %d", text, id)
			}
		}
		for _, id := range c.lacks {
			if m.Has(id) {
				t.Errorf("%s has %d", text, id)
			}
		}
	}
	for _, bad := range []string{"", "1:2", "a:b:", "1:2:x", "1:2:3:4"} {
		if _, err := ParseMoment(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}
