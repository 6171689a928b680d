package main

import (
	"regexp"
	"strings"
	"testing"
)

func TestQueryReceiptsAndReaders(t *testing.T) {
	s := stack(t)
	input := strings.Join([]string{
		joinLine, postLine("m1", "one"), postLine("m2", "two"), readLine,
		`{"topic":"chat.deliveries","event":{"channel_id":"general","user_id":"ann","delivered":{"message_id":"m2"}}}`,
	}, "\n")
	args := []string{"--addr", s.URL, "--after", strings.Join(lines(ok(t, input, "emit", "--brokers", s.Broker)), ",")}
	ask := func(verb ...string) string { return ok(t, "", append(append([]string{"query"}, verb...), args...)...) }
	expect := func(what, out string, want ...string) {
		t.Helper()
		for _, w := range want {
			if !regexp.MustCompile(w).MatchString(out) {
				t.Errorf("%s: %q is not in\n%s", what, w, out)
			}
		}
	}
	expect("a message that was read", ask("receipts", "general", "m1"), `ann +read +\d\d:\d\d:\d\d +\d\d:\d\d:\d\d`, `read: 1 recipient, read by 1, delivered to 1`)
	expect("one that was delivered", ask("receipts", "general", "m2"), `ann +delivered +\d\d:\d\d:\d\d`, `delivered: 1 recipient, read by 0, delivered to 1`)
	expect("JSON", ask("receipts", "general", "m1", "--json"), `"status":"read","recipient_count":1,"delivered_count":1,"read_count":1`)
	expect("readers", ask("readers", "general", "--page-size", "1"), `ann +#1 m1 +\d\d:\d\d:\d\d`, `more: --page-token `)
	expect("readers as JSON", ask("readers", "general", "--json"), `\{"user_id":"bob","message_id":"m2","seq":2,"at":"`)
	if r := tidemark(t, "", append([]string{"query", "receipts", "general", "nothing"}, args...)...); r.code != exitFailed || !strings.Contains(r.errout, "no such message") {
		t.Errorf("no such message: %+v", r)
	}
}
