package edge

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Lasting serves h, whose answer may take any time: each write has a deadline, instead of the whole
// answer.
func Lasting(h http.Handler, perWrite time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		arrived := func() { _ = c.SetReadDeadline(time.Time{}) } // without deadlines (tests) the server's own hold
		if r.ContentLength == 0 {
			arrived()
		} else {
			r = r.WithContext(r.Context())
			r.Body = &arriving{r.Body, arrived}
		}
		_ = c.SetWriteDeadline(time.Time{})
		out := &lasting{w, c, perWrite}
		defer func() { // of what the server writes and reads once h has returned
			out.next()
			_ = c.SetReadDeadline(time.Now().Add(perWrite))
		}()
		h.ServeHTTP(out, r)
	})
}

// arriving is the body of a request, for whose arrival the server's deadline holds.
type arriving struct {
	io.ReadCloser
	arrived func()
}

// Read reads the body, and notes its end.
func (a *arriving) Read(b []byte) (int, error) {
	n, err := a.ReadCloser.Read(b)
	if errors.Is(err, io.EOF) {
		a.arrived()
	}
	return n, err
}

type lasting struct {
	http.ResponseWriter
	control  *http.ResponseController
	perWrite time.Duration
}

func (l *lasting) next() { _ = l.control.SetWriteDeadline(time.Now().Add(l.perWrite)) }

// Unwrap lets an http.ResponseController find what is below.
func (l *lasting) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// Write writes within a deadline of its own.
func (l *lasting) Write(b []byte) (int, error) {
	l.next()
	return l.ResponseWriter.Write(b)
}

// Flush sends the written bytes, within a deadline of its own.
func (l *lasting) Flush() {
	l.next()
	_ = l.control.Flush() // as http.Flusher has it
}
