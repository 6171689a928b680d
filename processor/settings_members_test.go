package processor

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/tidemark/tidemark/internal/test/testkit"
)

// TestMembersTellOfOtherSettings: two members of one group have different settings. Both log that,
// with both settings and the way out, and count each other. Neither stops. They log it once, again
// after a while, and when it is over.
func TestMembersTellOfOtherSettings(t *testing.T) {
	s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 2)
	members, logs := make([]*member, 2), make([]testkit.Output, 2)
	for i, url := range []string{"http://a:1", "http://b:1"} {
		c := s.config(t.TempDir())
		c.Advertise = url
		c.Settings.FanoutLimit += uint32(i)
		c.Logger = slog.New(slog.NewTextHandler(&logs[i], nil))
		members[i] = s.start(c)
	}
	others := func(m *member) float64 {
		var got dto.Metric
		if err := m.metrics.OtherSettings.Write(&got); err != nil {
			t.Fatal(err)
		}
		return got.GetGauge().GetValue()
	}
	const said = "members of the group fold with other settings: restart those that are wrong"
	var seen [2]settingsSeen
	for i, m := range members {
		m.ready(1)
		until(t, "it sees the other's settings", func() bool {
			m.compareOnce(t.Context(), &seen[i])
			return others(m) == 1
		})
		m.compareOnce(t.Context(), &seen[i])
		other := members[1-i].cfg
		for _, part := range []string{said, m.cfg.Settings.String(), other.Advertise, other.Settings.String()} {
			if !strings.Contains(logs[i].String(), part) {
				t.Errorf("member %d says\n%s\nwithout %q", i, logs[i].String(), part)
			}
		}
	}
	lines := func() int { return strings.Count(logs[0].String(), said) }
	before := lines()
	members[0].compareOnce(t.Context(), &seen[0])
	if lines() != before {
		t.Error("the same difference is said at once again")
	}
	seen[0].at = seen[0].at.Add(-settingsAgain)
	members[0].compareOnce(t.Context(), &seen[0])
	if lines() == before {
		t.Error("the same difference is never said again")
	}
	members[1].stop()
	members[0].ready(2)
	until(t, "it is alone", func() bool {
		members[0].compareOnce(t.Context(), &seen[0])
		return others(members[0]) == 0
	})
	if !strings.Contains(logs[0].String(), "all members of the group fold with the same settings again") {
		t.Errorf("nobody says that it is over:\n%s", logs[0].String())
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	<-ctx.Done()
	members[0].compareOnce(ctx, &seen[0]) // brokers that do not answer prove nothing about settings
	if others(members[0]) != 0 {
		t.Error("who cannot be asked counts")
	}
}
