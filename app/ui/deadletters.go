package ui

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/tidemark/tidemark/app/letters"
)

const (
	letterPage   = 25
	scanned      = 2000    // letters that one request reads
	shownValue   = 4 << 10 // bytes of a value
	lettersStale = "the dead letters have changed meanwhile: look at them again"
)

// shownLetter is a dead letter with its value, as text or in hex.
type shownLetter struct {
	letters.Letter
	Value  string `json:"value"`
	Hex    bool   `json:"hex"`
	Cut    bool   `json:"cut"`
	Usable bool   `json:"usable"` // this build would accept it now
}

// letterCounts has the number of newest letters by reason.
type letterCounts struct {
	mu      sync.Mutex
	version string
	reasons map[string]int
	counted int
}

// deadLetters returns a page of the dead letters, newest first: all, or those of one reason
// (reason) and those that have a text (q). A request for the first page that names the newest
// version gets an answer without a body, because a page repeats it every few seconds and letters
// can be large.
func (u *UI) deadLetters(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), lettersWait)
	defer cancel()
	q := r.URL.Query()
	ends, err := u.letterEnds(ctx)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	version, reason, at := ends.version(), q.Get("reason"), q.Get("at")
	if at == "" && version == q.Get("version") {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	log, err := u.newLetterLog(ends, at)
	if err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	list, err := log.page(ctx, reason, q.Get("q"))
	if err == nil {
		err = u.count(ctx, ends)
	}
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	u.counts.mu.Lock()
	defer u.counts.mu.Unlock()
	reply(w, map[string]any{"letters": list, "next": log.cursor(), "total": ends.total(), "version": version, "reasons": u.counts.reasons, "counted": u.counts.counted})
}

// page returns the next letters of a reason and with a text; "": of all.
func (l *letterLog) page(ctx context.Context, reason, text string) ([]shownLetter, error) {
	list := []shownLetter{}
	var check letters.Checker
	for x, err := range l.newest(ctx, reason) {
		if err != nil {
			return list, err
		}
		if !has(x, text) {
			continue
		}
		s := shownLetter{Letter: *x}
		_, err = x.ToWrite(&check, false)
		s.Usable = err == nil
		s.Value, s.Hex, s.Cut = shown(x.Record.Value)
		if list = append(list, s); len(list) == letterPage {
			break
		}
	}
	return list, nil
}

// has reports whether a letter has a text in its key, its value, the place it came from, or what is
// wrong with it, whatever the case.
func has(l *letters.Letter, text string) bool {
	text = strings.ToLower(text)
	for _, in := range []string{l.Key, l.Topic + "/" + l.From, l.Detail, l.Code, string(l.Record.Value)} {
		if strings.Contains(strings.ToLower(in), text) {
			return true
		}
	}
	return false
}

// count counts the newest letters by reason, once for each version of the log.
func (u *UI) count(ctx context.Context, ends letterEnds) error {
	u.counts.mu.Lock()
	defer u.counts.mu.Unlock()
	if u.counts.version == ends.version() {
		return nil
	}
	log, err := u.newLetterLog(ends, "")
	if err != nil {
		return err
	}
	reasons, n := map[string]int{}, 0
	for x, err := range log.newest(ctx, "") {
		if err != nil {
			return err
		}
		reasons[x.Reason]++
		n++
	}
	u.counts.version, u.counts.reasons, u.counts.counted = ends.version(), reasons, n
	return nil
}

// shown returns a value as readable text.
func shown(v []byte) (text string, isHex, cut bool) {
	cut = len(v) > shownValue
	v = v[:min(len(v), shownValue)]
	if json.Valid(v) || utf8.Valid(v) && !slices.ContainsFunc([]rune(string(v)), func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' }) {
		return string(v), false, cut
	}
	return hex.Dump(v), true, cut
}

// replay writes one letter to its topic again, with its channel as the key, or all usable letters
// of a reason up to a version that the caller has seen.
func (u *UI) replay(w http.ResponseWriter, r *http.Request) {
	var want struct {
		Partition int32   `json:"partition"`
		Offset    *int64  `json:"offset"`
		Reason    *string `json:"reason"` // "": all
		Version   string  `json:"version"`
	}
	if err := body(w, r, &want); err != nil {
		refuse(w, http.StatusBadRequest, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), lettersWait)
	defer cancel()
	ends, err := u.letterEnds(ctx)
	switch {
	case err != nil:
		refuse(w, http.StatusServiceUnavailable, err)
	case want.Offset != nil && want.Reason == nil:
		u.replayOne(ctx, w, ends, want.Partition, *want.Offset)
	case want.Reason != nil && want.Offset == nil && want.Version == ends.version():
		u.replayReason(ctx, w, ends, *want.Reason)
	case want.Reason != nil && want.Offset == nil:
		refuse(w, http.StatusConflict, errors.New(lettersStale))
	default:
		refuse(w, http.StatusBadRequest, errors.New("want the offset of a letter, or a reason"))
	}
}

func (u *UI) replayOne(ctx context.Context, w http.ResponseWriter, ends letterEnds, partition int32, offset int64) {
	var found *letters.Letter
	if t := ends[partition]; offset >= t.from && offset < t.to {
		if err := u.readLetters(ctx, map[int32]tail{partition: {offset, offset + 1}}, func(l letters.Letter) {
			if l.Offset == offset {
				found = &l
			}
		}); err != nil {
			refuse(w, http.StatusServiceUnavailable, err)
			return
		}
	}
	if found == nil {
		refuse(w, http.StatusNotFound, fmt.Errorf("there is no dead letter %d/%d", partition, offset))
		return
	}
	record, err := found.ToWrite(new(letters.Checker), false)
	if err != nil {
		refuse(w, http.StatusConflict, fmt.Errorf("the record would be refused again: %w", err))
		return
	}
	written, err := u.write(ctx, record)
	if err != nil {
		refuse(w, http.StatusServiceUnavailable, err)
		return
	}
	reply(w, map[string]string{"after": written[0]})
}
