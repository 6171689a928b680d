package operate

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/internal/obs"
	"github.com/tidemark/tidemark/internal/private"
	"github.com/tidemark/tidemark/internal/test/testkit"
	"github.com/tidemark/tidemark/processor"
	"github.com/tidemark/tidemark/projections"
)

// hangingDisk writes no table while it is held.
type hangingDisk struct {
	vfs.FS
	held *sync.RWMutex
}

type hangingFile struct {
	vfs.File
	held *sync.RWMutex
}

func (d hangingDisk) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	f, err := d.FS.Create(name, c)
	if err == nil && strings.HasSuffix(name, ".sst") {
		f = hangingFile{f, d.held}
	}
	return f, err
}

func (f hangingFile) Write(b []byte) (int, error) {
	f.held.RLock()
	defer f.held.RUnlock()
	return f.File.Write(b)
}

// A disk that hangs three times, each time until writes of the store wait for it, makes the alert
// fire: rules see one scrape a minute, so these are three minutes in a row.
func TestADiskThatHangsFiresItsAlert(t *testing.T) {
	testkit.Program(t, "promtool")
	s := newSite(t, 1)
	var held sync.RWMutex
	r := obs.NewRegistry(obs.Build{})
	c := processor.Config{
		Brokers: s.brokers, ClientOptions: testkit.FastClientOpts(), Group: s.group, DataDir: t.TempDir(), Settings: projections.DefaultSettings(),
		Topics: s.names(), FS: hangingDisk{private.FS, &held}, MemTableSize: 256 << 10, CutEvery: 10 * time.Millisecond, CutBytes: 64 << 10, Registerer: r,
	}
	p, err := processor.New(c)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	defer func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	url := serve(t, obs.Metrics(r, false))
	testkit.Await(t, "the partition is live", func() bool { _, err := p.Live(0); return err == nil })
	const stalls = `tidemark_processor_store_write_stalls_total{partition="0"}`
	s.await(url, "tidemark_processor_store_write_stalls_total")
	scrapes := []map[string]float64{s.series(url)}
	if scrapes[0][stalls] != 0 {
		t.Fatalf("writes of an empty store waited: %v", scrapes[0][stalls])
	}
	s.fires(scrapes[0], scrapes[0])
	var users strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&users, `,"%d"`, i)
	}
	for n := 0; len(scrapes) < 4; {
		held.Lock()
		for waits := scrapes[len(scrapes)-1][stalls]; s.series(url)[stalls] <= waits; n++ {
			if n > 2000 {
				held.Unlock()
				t.Fatalf("after 2000 channels of 1000 members writes have waited %v times", waits)
			}
			channel := fmt.Sprintf("c%d", n)
			s.send(events.TopicMessages, channel, fmt.Sprintf(`{"channel_id":%q,"members_joined":{"user_ids":[%s]}}`, channel, users.String()[1:]), time.Now())
		}
		held.Unlock()
		scrapes = append(scrapes, s.series(url))
		s.until(func() error { // else the next writes would wait in the same stall
			stored, err := kadm.NewClient(s.producer).FetchOffsets(s.within(), s.group)
			if at, _ := stored.Lookup(c.Topics.Inputs[0], 0); err != nil || at.At < int64(n) {
				return fmt.Errorf("the store has %d of %d records: %w", at.At, n, err)
			}
			return nil
		})
	}
	s.firesOver(scrapes, "TidemarkStoreStalls")
}
