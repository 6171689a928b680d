package edge

import (
	"errors"
	"io"
	"net/http"
	"time"
)

// Lasting serves h, whose answer may take any time: instead of the whole answer, each write has a
// deadline.
func Lasting(h http.Handler, perWrite time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := http.NewResponseController(w)
		arrived := func() { _ = c.SetReadDeadline(time.Time{}) } // without deadlines (in tests), the server's own apply
		if r.ContentLength == 0 {
			arrived()
		} else {
			r = r.WithContext(r.Context())
			r.Body = &arriving{r.Body, arrived}
		}
		_ = c.SetWriteDeadline(time.Time{})
		out := &lasting{w, c, perWrite}
		defer func() { // for the server's reads and writes after h has returned
			out.next()
			_ = c.SetReadDeadline(time.Now().Add(perWrite))
		}()
		h.ServeHTTP(out, r)
	})
}

// arriving is the body of a request, which must arrive within the server's deadline.
type arriving struct {
	io.ReadCloser
	arrived func()
}

// Read reads the body, and records its end.
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

// Unwrap gives an http.ResponseController the writer below.
func (l *lasting) Unwrap() http.ResponseWriter { return l.ResponseWriter }

// Write writes within a deadline of its own.
func (l *lasting) Write(b []byte) (int, error) {
	l.next()
	return l.ResponseWriter.Write(b)
}

// Flush sends the written bytes, within a deadline of its own.
func (l *lasting) Flush() {
	l.next()
	_ = l.control.Flush() // http.Flusher returns no error
}
