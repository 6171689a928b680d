package peer

import (
	"fmt"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// doubtFor is how long after the last refused call /readyz reports that another node refuses
	// this one's proof. Without this limit, it would report a node that is gone for ever.
	doubtFor = time.Minute
	// maxDoubts bounds the remembered nodes.
	maxDoubts = 64
)

// Doubts remembers which other nodes do not accept this one as a node, for /readyz. All methods may
// be called on nil, and by any number of goroutines.
type Doubts struct {
	// Now is the clock; nil: time.Now.
	Now func() time.Time

	some atomic.Bool // Clear is called after every answer, and mostly has nothing to clear
	mu   sync.Mutex
	all  map[string]doubt // by URL
}

type doubt struct {
	at  time.Time
	why string
}

func (d *Doubts) now() time.Time {
	if d.Now == nil {
		return time.Now()
	}
	return d.Now()
}

// Add records that the node at a URL was not called, or did not answer, because this node's proof
// is not enough.
func (d *Doubts) Add(rawURL, why string) {
	if d == nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.all == nil {
		d.all = map[string]doubt{}
	}
	if _, known := d.all[rawURL]; known || len(d.all) < maxDoubts {
		d.all[rawURL] = doubt{d.now(), why}
		d.some.Store(true)
	}
}

// Clear records that the node at a URL accepts this one.
func (d *Doubts) Clear(rawURL string) {
	if d == nil || !d.some.Load() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.all, rawURL)
	d.some.Store(len(d.all) > 0)
}

// Lines returns a line for each node that refuses this one's proof, with the reason, in the order
// of their addresses.
func (d *Doubts) Lines() (lines []string) {
	if d == nil {
		return nil
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	for rawURL, one := range d.all {
		if now.Sub(one.at) > doubtFor {
			delete(d.all, rawURL)
			continue
		}
		host := rawURL
		if u, err := url.Parse(rawURL); err == nil && u.Host != "" {
			host = u.Host
		}
		lines = append(lines, fmt.Sprintf("calls cannot be forwarded to %s: %s", host, one.why))
	}
	slices.Sort(lines)
	return lines
}
