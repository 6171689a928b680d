package processor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

// TestOtherSettingsAreRefused: a store, a standby's store, a snapshot and a resumed rebuild were
// folded with one value of a setting, and the process has another value. The process refuses each
// with both values and the way out, and folds nothing of it.
func TestOtherSettingsAreRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change   func(*projections.Settings)
		was, now string
	}{
		"--send-marks-read": {func(s *projections.Settings) { s.SendMarksRead = false }, "send-marks-read true", "send-marks-read false"},
		"--trim-log":        {func(s *projections.Settings) { s.TrimLog = true }, "index-retention 2160h, not", "index-retention 2160h, trim-log true"},
		"--index-retention": {func(s *projections.Settings) { s.IndexRetention = 36 * time.Hour.Milliseconds() }, "index-retention 2160h", "index-retention 36h"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSite(t, testkit.FakeKafka(t).ListenAddrs(), 1)
			b, _ := bucket(t)
			dir := t.TempDir()
			m := s.start(s.with(dir, b)).ready(1)
			m.unread(s.join("general", "alice"), "alice", "general")
			m.snapshots(1)
			m.stop()
			const wayOut = "start with the settings of before, or with an empty data directory"
			words := []string{"was folded with ", c.was, "not with ", c.now, wayOut}
			with := func(dir string) Config {
				o := s.config(dir)
				c.change(&o.Settings)
				return o
			}

			m = s.start(with(dir))
			m.failedWith(0, 1, words...)
			m.stop()

			rebuilt := t.TempDir()
			for _, r := range s.rebuild(rebuilt, nil) {
				if r.Err != nil {
					t.Fatal(r.Err)
				}
			}
			for _, r := range s.rebuild(rebuilt, func(r *RebuildConfig) { r.Resume = true; c.change(&r.Settings) }) {
				for _, text := range words {
					if r.Err == nil || !strings.Contains(r.Err.Error(), text) {
						t.Errorf("a rebuild that goes on: %v, want %q in it", r.Err, text)
					}
				}
			}

			owner := with(t.TempDir())
			owner.Standbys = 1
			standby := with(dir)
			standby.Standbys = 1
			a := s.start(owner).ready(1)
			z := s.start(standby)
			until(t, "the standby is refused in words", func() bool {
				message := fmt.Sprint(z.Status(), z.Standbys())
				for _, st := range z.Standbys() {
					message += fmt.Sprint(st.Err)
				}
				for _, text := range words {
					if !strings.Contains(message, text) {
						return false
					}
				}
				return true
			})
			m2 := s.post("general", "m1", "bob")
			if n := a.unread(m2, "alice", "general"); n != 1 {
				t.Errorf("beside a standby that is refused alice has %d unread, want 1", n)
			}
			z.stop()
			a.stop()

			// The log is gone up to the snapshot, so nothing can be opened without it.
			trim := kadm.Offsets{}
			trim.Add(kadm.Offset{Topic: s.names().Inputs[0], Partition: 0, At: 1})
			if _, err := testkit.Admin(t, s.brokers).DeleteRecords(t.Context(), trim); err != nil {
				t.Fatal(err)
			}
			restored := with(t.TempDir())
			restored.Snapshots = snapshot.New(b, snapshot.Options{})
			m = s.start(restored)
			m.failedWith(0, 1, words...)
		})
	}
}
