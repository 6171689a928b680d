package inspect

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func TestStoresAreListedInTheOrderOfTheirNumbers(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"partition-10", "partition-2", "partition-1", "other"} {
		if err := os.Mkdir(filepath.Join(dir, n), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	got, err := (&storeCmd{Dir: dir}).stores()
	for i := range got {
		got[i] = filepath.Base(got[i])
	}
	if want := []string{"partition-1", "partition-2", "partition-10"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
}
