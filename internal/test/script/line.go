package script

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// line is the unread rest of a line.
type line struct {
	tokens []token
	err    error // the first
}

type token struct {
	text   string
	quoted bool
}

// split cuts a line into tokens: words, and texts in double quotes as in Go. Commas separate like
// spaces; what follows "//" is a comment.
func split(s string) (line, error) {
	var l line
	for {
		s = strings.TrimLeft(s, " \t,")
		switch {
		case s == "" || strings.HasPrefix(s, "//"):
			return l, nil
		case s[0] == '"':
			q, err := strconv.QuotedPrefix(s)
			if err != nil {
				return l, fmt.Errorf("a text without its closing quote: %s", s)
			}
			text, err := strconv.Unquote(q)
			if err != nil {
				return l, fmt.Errorf("text %s: %w", q, err)
			}
			l.tokens = append(l.tokens, token{text, true})
			s = s[len(q):]
		default:
			n := strings.IndexAny(s, " \t,")
			if n < 0 {
				n = len(s)
			}
			l.tokens = append(l.tokens, token{s[:n], false})
			s = s[n:]
		}
	}
}

// fail keeps the first error.
func (l *line) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// take consumes words if they come next.
func (l *line) take(words ...string) bool {
	if len(l.tokens) < len(words) {
		return false
	}
	for i, w := range words {
		if l.tokens[i] != (token{w, false}) {
			return false
		}
	}
	l.tokens = l.tokens[len(words):]
	return true
}

// word consumes the next word. what describes it in errors.
func (l *line) word(what string) string {
	if len(l.tokens) == 0 || l.tokens[0].quoted {
		l.fail("%s is missing", what)
		return ""
	}
	w := l.tokens[0].text
	l.tokens = l.tokens[1:]
	return w
}

func (l *line) number(what string) uint32 {
	w := l.word(what)
	n, err := strconv.ParseUint(w, 10, 32)
	if err != nil {
		l.fail("%s: %q is no number", what, w)
	}
	return uint32(n)
}

// option finds a word anywhere in the line and splits the line before it. The caller reads the
// second part and returns the rest with rejoin.
func (l *line) option(word string) (*line, bool) {
	for i, t := range l.tokens {
		if t == (token{word, false}) {
			tail := &line{tokens: l.tokens[i+1:]}
			l.tokens = l.tokens[:i:i]
			return tail, true
		}
	}
	return nil, false
}

func (l *line) rejoin(tail *line) {
	l.tokens = append(l.tokens, tail.tokens...)
	if l.err == nil {
		l.err = tail.err
	}
}

// flag consumes words at any place in the line.
func (l *line) flag(words ...string) bool {
	for i := range l.tokens {
		rest := line{tokens: l.tokens[i:]}
		if rest.take(words...) {
			l.tokens = append(l.tokens[:i:i], rest.tokens...)
			return true
		}
	}
	return false
}

// prefixed consumes all words that start with prefix and returns them without it.
func (l *line) prefixed(prefix string) []string {
	var out []string
	left := l.tokens[:0:0]
	for _, t := range l.tokens {
		if !t.quoted && strings.HasPrefix(t.text, prefix) && len(t.text) > len(prefix) {
			out = append(out, t.text[len(prefix):])
		} else {
			left = append(left, t)
		}
	}
	l.tokens = left
	return out
}

// text consumes the text of the line, "" if there is none.
func (l *line) text() string {
	for i, t := range l.tokens {
		if t.quoted {
			l.tokens = append(l.tokens[:i:i], l.tokens[i+1:]...)
			return t.text
		}
	}
	return ""
}

var rangePattern = regexp.MustCompile(`^(.*?)(\d{1,6})\.\.(.*?)(\d{1,6})$`)

// list consumes one or more ids, up to a mention, a text, one of the words, or the end. "m1..m3"
// means m1, m2, m3.
func (l *line) list(what string, until ...string) []string {
	var out []string
	for len(l.tokens) > 0 && !l.tokens[0].quoted && !strings.HasPrefix(l.tokens[0].text, "@") && !slices.Contains(until, l.tokens[0].text) {
		id := l.word(what)
		m := rangePattern.FindStringSubmatch(id)
		if m == nil || m[1] != m[3] {
			out = append(out, id)
			continue
		}
		from, err1 := strconv.Atoi(m[2])
		to, err2 := strconv.Atoi(m[4])
		if err1 != nil || err2 != nil || from > to {
			l.fail("%s: %q is no range", what, id)
			return out
		}
		for n := from; n <= to; n++ {
			out = append(out, m[1]+strconv.Itoa(n))
		}
	}
	if len(out) == 0 {
		l.fail("%s is missing", what)
	}
	return out
}

// end checks that the line was read to its end.
func (l *line) end() error {
	if l.err == nil && len(l.tokens) > 0 {
		l.fail("%q is one word too many", l.tokens[0].text)
	}
	return l.err
}

func bytesOf(ids []string) [][]byte {
	var out [][]byte
	for _, id := range ids {
		out = append(out, []byte(id))
	}
	return out
}
