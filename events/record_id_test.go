package events

import "testing"

func TestParseRecordID(t *testing.T) {
	want := RecordID{"chat.messages", 3, 1234}
	if got, err := ParseRecordID("chat.messages/3/1234"); err != nil || got != want || got.String() != "chat.messages/3/1234" {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range []string{"", "t", "t/1", "/1/2", "t/-1/2", "t/1/-2", "t/+1/2", "t/1/2/3", "t/99999999999/1", "t/a/b", "t/1/", "t//1"} {
		if got, err := ParseRecordID(bad); err == nil {
			t.Errorf("%q was read as %v", bad, got)
		}
	}
}

func FuzzParseRecordID(f *testing.F) {
	f.Add("chat.messages/1/2")
	f.Add("a/b/0/9223372036854775807")
	f.Add("//")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseRecordID(text)
		if err != nil {
			return
		}
		if id.Topic == "" || id.Partition < 0 || id.Offset < 0 {
			t.Fatalf("%q was read as %+v", text, id)
		}
		if again, err := ParseRecordID(id.String()); err != nil || again != id {
			t.Fatalf("%q was read as %+v, written and read again as %+v, %v", text, id, again, err)
		}
	})
}
