package snapshot_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/tidemark/tidemark/internal/test/script"
	"github.com/tidemark/tidemark/projections"
	"github.com/tidemark/tidemark/snapshot"
)

var update = flag.Bool("update", false, "write the fixture of this version's formats")

// fixture describes a store and a snapshot that some version has written:
// testdata/store-<format>-fold-<fold> has the store as store/ and its snapshot in bucket/.
type fixture struct {
	Format   uint64               `json:"format"`
	Fold     uint64               `json:"fold"`
	Position projections.Position `json:"position"`
	Digest   string               `json:"digest"`
}

func fixtureDir(format, fold uint64) string {
	return filepath.Join("testdata", fmt.Sprintf("store-%d-fold-%d", format, fold))
}

// foldStory folds testdata/story.txt with the current version, and cuts now and then.
func foldStory(t *testing.T, dir string, fs vfs.FS) *projections.Partition {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "story.txt"))
	if err != nil {
		t.Fatal(err)
	}
	var parser script.Parser
	records, err := parser.Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	p, err := projections.Open(dir, identity(), projections.Options{FS: fs})
	if err != nil {
		t.Fatal(err)
	}
	var log script.Log
	for i := range records {
		r := log.Add(records[i])
		if r.Fold(p) == projections.OutcomeTooManyHeld {
			t.Fatalf("record %d is refused", i)
		}
		if i%40 != 39 && i != len(records)-1 {
			continue
		}
		p.Drain(&projections.Deltas{}, true)
		c, err := p.Cut()
		if err == nil {
			err = c.Apply()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return p
}

// writeFixture writes the fixture of this version.
func writeFixture(t *testing.T) {
	at := fixtureDir(projections.FormatVersion, projections.FoldVersion)
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
	abs, err := filepath.Abs(filepath.Join(at, "bucket"))
	if err != nil {
		t.Fatal(err)
	}
	p := foldStory(t, filepath.Join(at, "store"), vfs.Default)
	if _, _, err := snapshot.New(openBucket(t, "file://"+abs), snapshot.Options{}).Create(t.Context(), p, filepath.Join(at, "scratch"),
		snapshot.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	data, err := json.MarshalIndent(fixture{projections.FormatVersion, projections.FoldVersion, p.Position(), fmt.Sprintf("%x", p.Digest())}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(p.Close(), os.WriteFile(filepath.Join(at, "fixture.json"), append(data, '\n'), 0o644), os.Remove(filepath.Join(at, "store", "LOCK")),
		os.RemoveAll(filepath.Join(at, "bucket", ".lock"))); err != nil {
		t.Fatal(err)
	}
}

// TestFixtures (R9): a store and snapshot of any released version opens with its original digest,
// or is refused as too old. If this version has the same store format, it gives the same log the
// same digest. A release with other formats or rules adds its own fixture: `go test ./snapshot -run
// Fixtures -update`.
func TestFixtures(t *testing.T) {
	if *update {
		writeFixture(t)
	}
	own := fixtureDir(projections.FormatVersion, projections.FoldVersion)
	if _, err := os.Stat(own); err != nil {
		t.Errorf("there is no fixture of this version: `go test ./snapshot -run Fixtures -update` writes it (%v)", err)
	}
	files, err := filepath.Glob(filepath.Join("testdata", "*", "fixture.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			data, err := os.ReadFile(file)
			var want fixture
			if err := errors.Join(err, json.Unmarshal(data, &want)); err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(filepath.Dir(file))); err != nil {
				t.Fatal(err)
			}
			r := snapshot.New(openBucket(t, "file://"+filepath.Join(dir, "bucket")), snapshot.Options{})
			list, err := r.List(t.Context(), identity().Partition)
			if err != nil || len(list) != 1 || list[0].Err != nil {
				t.Fatalf("%+v, %v", list, err)
			}
			restored := filepath.Join(dir, "restored")
			current := want.Format == projections.FormatVersion && want.Fold >= projections.OldestFold
			if !current {
				var refused *projections.MismatchError
				if err := list[0].Fits(identity()); !errors.As(err, &refused) || refused.Kind != projections.MismatchOlderFormat {
					t.Errorf("the snapshot: %v", err)
				}
				if _, err := projections.Open(filepath.Join(dir, "store"), identity(), projections.Options{}); !errors.As(err, &refused) ||
					refused.Kind != projections.MismatchOlderFormat {
					t.Errorf("the store: %v", err)
				}
				return
			}
			if err := r.Download(t.Context(), list[0].Manifest, restored, nil); err != nil {
				t.Fatal(err)
			}
			again := foldStory(t, "store", vfs.NewMem())
			defer again.Close()
			var dumps [3][]byte
			dumps[2] = dump(t, again)
			for i, at := range []string{filepath.Join(dir, "store"), restored} {
				p, err := projections.Open(at, identity(), projections.Options{})
				if err != nil {
					t.Fatal(err)
				}
				if got := fmt.Sprintf("%x", p.Digest()); got != want.Digest || p.Position() != want.Position {
					t.Errorf("%s is at %v with digest %s, not at %v with %s", filepath.Base(at), p.Position(), got, want.Position, want.Digest)
				}
				dumps[i] = dump(t, p)
				if err := p.Close(); err != nil {
					t.Error(err)
				}
			}
			for i, what := range []string{"the store", "the snapshot"} {
				if !bytes.Equal(dumps[i], dumps[2]) {
					t.Errorf("%s has other records than this version folds from the same log, though its fold version is to give the same stores", what)
				}
			}
		})
	}
}

func dump(t testing.TB, p *projections.Partition) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := p.Dump(func(key, value []byte) error {
		_, err := fmt.Fprintf(&b, "%q %x\n", key, value)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
