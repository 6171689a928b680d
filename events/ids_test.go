package events_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/tidemark/tidemark/events"
)

func TestValidID(t *testing.T) {
	cases := map[string]bool{
		"":                               false,
		"a":                              true,
		"!room:example.org":              true,
		"with space":                     true,
		"世界":                             true,
		"\u00a0":                         true, // the first character after the controls
		strings.Repeat("a", 255):         true,
		strings.Repeat("a", 256):         false,
		strings.Repeat("é", 127) + "a":   true,
		strings.Repeat("é", 128):         false, // 256 bytes
		"a\x00b":                         false,
		"01234567\x1f":                   false,
		"0123456\x7f":                    false,
		"01234567890123456789\u0080":     false,
		"\u009f":                         false,
		"01234567éééééééé\u00a0":         true,
		"01JA3M9ZC0QK2V5T7W8X9Y0ZAA":     true,
		"01JA3M9ZC0QK2V5T7W8X9Y0ZA\n":    false,
		"\t01JA3M9ZC0QK2V5T7W8X9Y0ZA":    false,
		"~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~": true,
	}
	for id, want := range cases {
		if got := events.ValidID([]byte(id)); got != want {
			t.Errorf("%q: got %t, want %t", id, got, want)
		}
	}
}

// ValidID examines eight bytes at a time; this test has the same rule for one character at a time.
func TestValidIDRandom(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	alphabet := []rune{'a', 'Z', '~', ' ', '!', '@', 'é', '世', '😀', 0xa0, 0xbf, 0xc2}
	controls := []rune{0, '\n', 0x1f, 0x7f, 0x80, 0x85, 0x9f}
	for range 50_000 {
		var s []rune
		for range rnd.IntN(30) {
			s = append(s, alphabet[rnd.IntN(len(alphabet))])
		}
		if rnd.IntN(2) == 0 && len(s) > 0 {
			s[rnd.IntN(len(s))] = controls[rnd.IntN(len(controls))]
		}
		want := len(s) > 0 && !strings.ContainsFunc(string(s), unicode.IsControl)
		if got := events.ValidID([]byte(string(s))); got != want {
			t.Fatalf("%q: got %t, want %t", string(s), got, want)
		}
	}
}

func TestErrorsAreSafeToLog(t *testing.T) {
	var d events.Decoder
	var m events.Message
	const canary = "the secret preview"
	values := []string{
		`{"channel_id":"c1","message_posted":{"message_id":"","preview":"` + canary + `"}}`,
		`{"channel_id":"c1","message_posted":{"preview":"x" "` + canary + `"}}`,
		`{"channel_id":"c1","message_posted":{"preview":["` + canary + `"]}}`,
		`{"channel_id":"c1","message_posted":{"preview":"` + canary + `\q"}}`,
		`{"channel_id":"c1","message_posted":{"member_count":"` + canary + `"}}`,
		`{"channel_id":"c1","message_posted":{"preview":"` + canary + "\xff\"}}",
		"\x52\x16\x1a\x13" + canary + "\xff",
		"\x0a\x02c1\x52\x14\x1a\x12" + canary,
	}
	for _, value := range values {
		err := d.Message([]byte(value), record, &m)
		if err == nil {
			t.Errorf("%q was accepted", value)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error shows the preview: %v", value, err)
		}
	}

	for _, id := range []string{"a\nlevel=ERROR forged", "\x1b[2J", strings.Repeat("世", 300)} {
		err := d.Message([]byte("\x0a"+varint(len(id))+id+"\x82\x01\x00"), record, &m)
		if events.ReasonOf(err) != events.ReasonInvalidID {
			t.Fatalf("%q: %v", id, err)
		}
		text := err.Error()
		if strings.ContainsFunc(text, unicode.IsControl) || len(text) > 400 || !utf8.ValidString(text) {
			t.Errorf("unsafe in a log: %q", text)
		}
	}
}

// varint encodes a length.
func varint(n int) string {
	s := ""
	for ; n >= 0x80; n >>= 7 {
		s += string([]byte{byte(n) | 0x80})
	}
	return s + string([]byte{byte(n)})
}
