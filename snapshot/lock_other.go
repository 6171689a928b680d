//go:build !unix

package snapshot

import "errors"

func lockFile(string) (func(), error) {
	return nil, errors.New("snapshots in a directory need a system with flock: use S3")
}
