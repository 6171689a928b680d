package verbs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/tidemark/tidemark/processor"
)

// StoresIn are the stores of a data directory, by partition.
func StoresIn(dir string) (map[int32]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	stores := map[int32]string{}
	for _, e := range entries {
		number, ok := strings.CutPrefix(e.Name(), "partition-")
		if n, err := strconv.ParseInt(number, 10, 32); ok && err == nil && n >= 0 && e.IsDir() {
			stores[int32(n)] = filepath.Join(dir, e.Name())
		}
	}
	return stores, nil
}

// StoreDir is the directory of a partition's store.
func StoreDir(dataDir string, partition int32) string { return processor.StoreDir(dataDir, partition) }

// InUse returns the error for a store that a running node uses, with the way out.
func InUse(dir string, err error) error {
	return fmt.Errorf("%s is in use: query the node that uses it (`tidemark query`), look into a snapshot (`tidemark inspect "+
		"snapshot`), or stop the node; nothing was changed (%w)", dir, err)
}

// IsInUse reports whether a store is locked by another process, or by this one.
func IsInUse(err error) bool {
	return errors.Is(err, syscall.EAGAIN) || err != nil && strings.Contains(err.Error(), "lock held")
}
