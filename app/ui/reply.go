package ui

import (
	"encoding/json"
	"fmt"
	"net/http"
)

func noStore(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		h.ServeHTTP(w, r)
	})
}

// body reads a small JSON object.
func body(w http.ResponseWriter, r *http.Request, v any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, 64<<10))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("the body does not have the expected form: %w", err)
	}
	return nil
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone, and nobody else can receive the error
}

func refuse(w http.ResponseWriter, status int, err error) { refuseAs(w, status, "", err) }

// refuseAs answers with an error code like those of the queries; empty: none.
func refuseAs(w http.ResponseWriter, status int, code string, err error) {
	answer := struct {
		Code    string `json:"code,omitempty"`
		Message string `json:"message"`
	}{code, err.Error()}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // the client may be gone, and nobody else can receive the error
}
