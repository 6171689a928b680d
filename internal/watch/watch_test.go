package watch_test

import (
	"sync"
	"testing"

	"github.com/tidemark/tidemark/internal/test/watchtest"
)

// plain is the least that a Watcher can be.
type plain struct {
	mu      sync.Mutex
	signal  chan struct{}
	ids     map[string]bool
	stopped bool
}

func (p *plain) Signal() <-chan struct{} { return p.signal }

func (p *plain) Changed() (ids []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id := range p.ids {
		ids = append(ids, id)
	}
	clear(p.ids)
	return ids
}

func (p *plain) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
}

func (p *plain) change(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stopped {
		return
	}
	p.ids[id] = true
	select {
	case p.signal <- struct{}{}:
	default:
	}
}

// TestContract: a map and a channel of one signal keep the contract. The implementations in use run
// it where they are: processor/internal/steps and query.
func TestContract(t *testing.T) {
	watchtest.Check(t, func(*testing.T) watchtest.Watched {
		p := &plain{signal: make(chan struct{}, 1), ids: map[string]bool{}}
		return watchtest.Watched{Watcher: p, Change: p.change, End: func() { close(p.signal) }}
	})
}
