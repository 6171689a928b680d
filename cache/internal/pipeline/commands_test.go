package pipeline

import (
	"slices"
	"testing"
)

func TestCommandsAreCutApart(t *testing.T) {
	var c Commands
	for range 2 { // the second time reuses it
		c.Reset()
		c.Command("hset")
		c.Str("inbox:u")
		c.Text(nil)
		c.Number(4294967295)
		c.Command("unwatch")
		c.Command("del")
		c.Str("k")
		var got [][]string
		for _, args := range c.List() {
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
	c.Reset()
	if list := c.List(); len(list) != 0 {
		t.Errorf("nothing became %d commands", len(list))
	}
}
