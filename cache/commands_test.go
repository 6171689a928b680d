package cache

import (
	"slices"
	"testing"
)

func TestCommandsAreCutApart(t *testing.T) {
	var c commands
	for range 2 { // reused
		c.reset()
		c.command("hset")
		c.key("inbox:", []byte("u"))
		c.text(nil)
		c.number(4294967295)
		c.command("unwatch")
		c.command("del")
		c.str("k")
		var got [][]string
		for _, args := range c.list() {
			var list []string
			for _, a := range args {
				list = append(list, *a.(*string))
			}
			got = append(got, list)
		}
		want := [][]string{{"hset", "inbox:u", "", "4294967295"}, {"unwatch"}, {"del", "k"}}
		if !slices.EqualFunc(got, want, slices.Equal) {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	c.reset()
	if list := c.list(); len(list) != 0 {
		t.Errorf("nothing became %d commands", len(list))
	}
}
