package jsonw

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestAppendString(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		if !utf8.ValidString(s) {
			t.Skip("not UTF-8")
		}
		b := AppendString(nil, []byte(s))
		var back string
		if err := json.Unmarshal(b, &back); err != nil || back != s {
			t.Fatalf("%q became %s, which reads as %q (%v)", s, b, back, err)
		}
	})
}

func TestAppendSafe(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := string(rapid.SliceOf(rapid.Byte()).Draw(t, "s"))
		b := AppendSafe([]byte("x"), s)[1:]
		var back string
		if err := json.Unmarshal(b, &back); err != nil || back != strings.ToValidUTF8(s, "\uFFFD") && utf8.ValidString(s) {
			t.Fatalf("%q became %s, which reads as %q (%v)", s, b, back, err)
		}
		if strings.ContainsAny(string(b), "<>&\x7f\u2028\u2029") || !utf8.Valid(b) {
			t.Fatalf("%q became %s", s, b)
		}
	})
	for s, want := range map[string]string{
		"a<b>&c": `"a\u003cb\u003e\u0026c"`, "line\nend": `"line\nend"`, "tab\t": `"tab\u0009"`, "\xff\xfe": `"\ufffd\ufffd"`,
		"\u2028": `"\u2028"`, "\uFFFD": "\"\uFFFD\"", `"\`: `"\"\\"`,
	} {
		if got := string(AppendSafe(nil, s)); got != want {
			t.Errorf("%q: got %s, want %s", s, got, want)
		}
	}
}

func TestAppendTime(t *testing.T) {
	for want, ms := range map[string]int64{"1970-01-01T00:00:00.000Z": 0, "9999-12-31T23:59:59.999Z": 253402300799999,
		"2026-01-02T03:04:05.678Z": time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC).UnixMilli()} {
		if got := string(AppendTime(nil, ms)); got != want {
			t.Errorf("%d: got %s, want %s", ms, got, want)
		}
	}
}
