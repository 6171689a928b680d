package operate

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidemark/tidemark/app/node"
	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/audit"
	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/internal/test/testkit"
)

// A full disk makes the alerts of the store and of the audit log fire. The node recovers once there
// is space again.
func TestAFullDiskFiresItsAlerts(t *testing.T) {
	testkit.Program(t, "promtool")
	disk := t.TempDir()
	if err := syscall.Mount("none", disk, "tmpfs", 0, "size=96m"); err != nil {
		t.Skipf("this user cannot mount a small disk: %v", err)
	}
	s := newSite(t, 1)
	t.Cleanup(func() { _ = syscall.Unmount(disk, syscall.MNT_DETACH) })
	notes, err := audit.Open(filepath.Join(disk, "audit"), io.Discard, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(notes.Close)
	url, stop := s.start("", func(c *node.Config) { c.DataDir, c.Audit = filepath.Join(disk, "data"), notes }, config.RoleProcessor, config.RoleQuery)
	defer stop()
	s.ready(url)
	before := s.series(url)
	filler := filepath.Join(disk, "filler")
	f, err := os.Create(filler)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(f, zeros{}, 1<<30); err == nil {
		t.Fatal("the disk takes everything")
	}
	f.Close()
	long := strings.Repeat("x", 20_000)
	after := s.series(url)
	for i := 0; i < 5000 && (after[`tidemark_processor_disk_full{partition="0"}`] != 1 || after["tidemark_audit_lost_total{}"] == 0); i++ {
		s.send(events.TopicMessages, "team", fmt.Sprintf(`{"channel_id":"team","message_posted":{"message_id":"m%d","sender_id":"ann","preview":%q}}`, i, long), time.Now())
		req, err := http.NewRequestWithContext(s.within(), http.MethodGet, url+"/admin/partitions", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		after = s.series(url)
	}
	s.fires(before, after, "TidemarkAuditLost", "TidemarkDiskFull", "TidemarkNotReady")
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	s.ready(url)
}

// zeros is an endless reader.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }
