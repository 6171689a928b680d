package transcript

import "testing"

func TestShows(t *testing.T) {
	for _, c := range []struct {
		page, output string
		shows        bool
	}{
		{"as of  chat.messages/3/5 chat.deliveries/3/4\n", "as of chat.messages/3/5\n", true},
		{"last read  m3, 15:08:20\n", "last read m3, 09:12:44.123\n", true},
		{"last read  m3, 15:08:20\n", "last read m4, 09:12:44.123\n", false},
		{"created  a\n…\nexisted  c\n", "created  a\ncreated b\nexisted  c\n", true},
		{"created  a\n...\nexisted  c\n", "created  a\nexisted  c\n", true},
		{"created  a\n…\nexisted  c\n", "created  a\nexisted  c\nmore\n", false},
		{"created  a\n…\n", "created  a\n", true},
		{"created  a\n…\n", "created  b\n", false},
		{"retention is 5, want -1: …\n", "retention is 5, want -1: run this\n", true},
		{"retention is 5, want -1: …\n", "retention is 5, want -1: run this\nand that\n", false},
		{"verify: 100.0%, 17 of 17 records, 27/s\nno difference\n", "no difference\n", true},
	} {
		if Shows(c.page, c.output, Masked) != c.shows {
			t.Errorf("%q shows %q: want %v", c.page, c.output, c.shows)
		}
	}
	if !Shows("2 tables of 1.2GiB\n", "1 table of 3 KiB\n", Numbered) || Shows("a\nb\nc 1\n", "a\nc 2\nd\n", SameEnds) {
		t.Error("the numbers of a form")
	}
}
