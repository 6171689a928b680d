// Package failure separates failures that may pass by themselves from those that only a person can
// end. A partition with the first kind is opened again; with the second it stays failed.
package failure

import (
	"errors"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/tidemark/tidemark/projections"
)

// passes is an error whose cause may pass by itself.
type passes struct{ error }

// Unwrap lets errors.Is and errors.As find the cause.
func (p passes) Unwrap() error { return p.error }

// Passing marks err as one whose cause may pass by itself.
func Passing(err error) error { return passes{err} }

// MayPass reports whether a retry after err may succeed.
func MayPass(err error) bool {
	var p passes
	return errors.As(err, &p)
}

// OfOpening marks the error of opening a store, unless a retry cannot help: the store is corrupt,
// or belongs to another cluster, topic or configuration.
func OfOpening(err error) error {
	var mismatch *projections.MismatchError
	if errors.As(err, &mismatch) || projections.IsCorrupt(err) {
		return err
	}
	return passes{err}
}

// OfStore marks the error of writing or reading a store in use, unless the store is corrupt.
func OfStore(err error) error {
	if projections.IsCorrupt(err) {
		return err
	}
	return passes{err}
}

// OfPublishing marks the error of refused records, unless the brokers will never accept them.
func OfPublishing(err error) error {
	for _, never := range []error{kerr.MessageTooLarge, kerr.RecordListTooLarge, kerr.InvalidRecord, kerr.UnsupportedForMessageFormat} {
		if errors.Is(err, never) {
			return err
		}
	}
	return passes{err}
}
