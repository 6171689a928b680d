package paths

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidemark/tidemark/app/bench/gauge"
	"github.com/tidemark/tidemark/internal/traffic"
)

// TestLinesAreTold: every line has a mix and a name of its own, and -run selects by name.
func TestLinesAreTold(t *testing.T) {
	names := map[string]bool{}
	for _, l := range lines {
		if traffic.Mixes[l.mix].Channels == 0 || names[l.name] || l.events <= l.warm {
			t.Errorf("%+v", l)
		}
		names[l.name] = true
	}
	if got := choose(nil); len(got) != len(lines) {
		t.Errorf("%d lines without -run", len(got))
	}
	for _, l := range choose(regexp.MustCompile("mix C.*Redis$")) {
		if l.mix != "C" || !l.cache || l.packed {
			t.Errorf("selected %+v", l)
		}
	}
}

// TestShare: a share makes channels and events fewer, but not too few to measure.
func TestShare(t *testing.T) {
	if l := (line{warm: 100_000, events: 400_000}).sized(0.1); l.warm != 10_000 || l.events != 40_000 {
		t.Errorf("a tenth: %+v", l)
	}
	if l := (line{events: 400_000}).sized(0.0001); l.events != 1_000 {
		t.Errorf("next to nothing: %+v", l)
	}
	if m := mixOf("C", 0.1); m.Channels != 25_000 || pairs(m) != 50_000 {
		t.Errorf("a tenth of C: %+v", m)
	}
	if m := mixOf("B", 1); m != traffic.Mixes["B"] {
		t.Errorf("all of B: %+v", m)
	}
}

// TestFiguresOfALine: a line reports what it is for, and a ratio to the echo of its mix.
func TestFiguresOfALine(t *testing.T) {
	for _, c := range []struct {
		line line
		want []string
	}{
		{line{name: "l"}, []string{"cpu-s/Mev 6"}},
		{line{name: "l", echo: true, disk: true}, []string{"cpu-s/Mev 6", "times the echo 3", "bytes written an event 70"}},
		{line{name: "l", cache: true}, []string{"cpu-s/Mev 6", "bytes of Redis a pair 80"}},
	} {
		var got []string
		conf := Config{Report: func(base bool, line, what string, value float64) {
			if !base || line != "l" {
				t.Errorf("reported for base %v, line %q", base, line)
			}
			got = append(got, fmt.Sprint(what, " ", value))
		}}
		conf.report(true, c.line, measured{Result: gauge.Result{CPU: 6}, redis: 80, disk: 70}, 2)
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %q, want %q", c.line, got, c.want)
		}
	}
}

func TestMissing(t *testing.T) {
	a, b := partition{"t", 0}, partition{"t", 1}
	ends := offsets{a: 10, b: 5}
	for _, c := range []struct {
		at   offsets
		want int64
	}{
		{nil, 15}, {offsets{a: 10}, 5}, {offsets{a: 12, b: 4}, 1}, {offsets{a: 10, b: 5}, 0},
	} {
		if got := c.at.missing(ends); got != c.want {
			t.Errorf("%v lacks %d, want %d", c.at, got, c.want)
		}
	}
}

func TestUsedMemory(t *testing.T) {
	got, err := parseUsedMemory("# Memory\r\nused_memory:1234567\r\nused_memory_human:1.18M\r\n")
	if err != nil || got != 1_234_567 {
		t.Errorf("got %d, %v", got, err)
	}
	if _, err := parseUsedMemory("# Memory\r\nused_memory_human:1.18M\r\n"); err == nil {
		t.Error("no error without used_memory")
	}
}

// TestTail keeps the end of a node's output, where the reason of its end is.
func TestTail(t *testing.T) {
	var l tail
	for range 3 {
		if _, err := l.Write([]byte(strings.Repeat("x", tailBytes/2))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.Write([]byte("the reason")); err != nil {
		t.Fatal(err)
	}
	if got := l.String(); len(got) != tailBytes || !strings.HasSuffix(got, "xthe reason") {
		t.Errorf("%d bytes that end in %q", len(got), got[max(0, len(got)-20):])
	}
}
