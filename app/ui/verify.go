package ui

import (
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/tidemark/tidemark/app/rebuild"
)

// progressEvery is the interval of progress reports.
const progressEvery = 250 * time.Millisecond

// deeds are the operations that the page can start on this node.
type deeds struct {
	Snapshots bool `json:"snapshots"`
	Verify    bool `json:"verify"`
}

// verified is a line of the answer: progress, or at the end a result or an error.
type verified struct {
	Progress *float64        `json:"progress,omitempty"` // from 0 to 1
	Result   *rebuild.Result `json:"result,omitempty"`
	Error    string          `json:"error,omitempty"`
}

// verify compares the store of a partition with a rebuild of it, and streams its progress as lines
// of JSON. It ends when the caller disconnects.
func (u *UI) verify(w http.ResponseWriter, r *http.Request) {
	var want struct {
		Partition int32 `json:"partition"`
	}
	if u.cfg.Verify == nil {
		refuse(w, http.StatusNotFound, errors.New("this node has no stores"))
		return
	}
	if err := body(w, r, &want); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.WriteHeader(http.StatusOK)
	var mu sync.Mutex
	var sentAt time.Time
	send := func(v verified) {
		if json.NewEncoder(w).Encode(v) == nil {
			_ = http.NewResponseController(w).Flush() // the caller may be gone, which ends the context
		}
	}
	res, err := u.cfg.Verify(r.Context(), want.Partition, func(share float64) {
		mu.Lock()
		defer mu.Unlock()
		if now := time.Now(); now.Sub(sentAt) >= progressEvery {
			sentAt = now
			send(verified{Progress: &share})
		}
	})
	mu.Lock()
	defer mu.Unlock()
	if err != nil {
		send(verified{Error: err.Error()})
		return
	}
	send(verified{Result: res})
}
