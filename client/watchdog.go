package client

import (
	"sync"
	"time"
)

// watchdog probes a connection that is silent for a while, and closes it if there is no answer.
// Otherwise a cut cable would leave old numbers for ever.
type watchdog struct {
	device *Device
	give   func()

	mu    sync.Mutex
	timer *time.Timer
	asked bool
	gave  bool
}

// begin waits for the first frame like for an answer to a probe.
func (w *watchdog) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = true
	w.timer = time.AfterFunc(w.device.cfg.AnswerTimeout, w.fire)
}

func (w *watchdog) end() { w.timer.Stop() }

// heard records that a frame came.
func (w *watchdog) heard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = false
	w.timer.Reset(w.device.cfg.QuietTimeout)
}

func (w *watchdog) gaveUp() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gave
}

func (w *watchdog) fire() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.asked {
		w.gave = true
		go w.give()
		return
	}
	w.asked = true
	w.device.outbox.sendNow(command{Type: "sync"})
	w.timer.Reset(w.device.cfg.AnswerTimeout)
}
