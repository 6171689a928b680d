package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

// FuzzManifest decodes any bytes as a manifest, unchanged and with a correct hash. A decoded
// manifest survives encoding and decoding, and each of its files stays in the folder that it is
// restored to.
func FuzzManifest(f *testing.F) {
	for _, body := range []string{``, `{}`, `null`, `{"format":1}`, `{"format":99}`, `{"format":1,"files":[{"name":"../x","size":-1}]}`} {
		f.Add([]byte(body))
	}
	fixtures, err := filepath.Glob("testdata/*/bucket/*/current.manifest")
	if err != nil || len(fixtures) == 0 {
		f.Fatalf("%d manifests to begin with: %v", len(fixtures), err)
	}
	for _, name := range fixtures {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[bodyAt : len(data)-len(sealTail)])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if m, err := decodeManifest("raw", body); err == nil {
			again(t, m)
		}
		sum := sha256.Sum256(body)
		sealed := bytes.Join([][]byte{[]byte(sealHead), []byte(hex.EncodeToString(sum[:])), []byte(sealMid), body, []byte(sealTail)}, nil)
		if m, err := decodeManifest("sealed", sealed); err == nil {
			again(t, m)
		}
	})
}

func again(t *testing.T, m *Manifest) {
	t.Helper()
	for i := range m.Files {
		if name := m.Files[i].Name; !filepath.IsLocal(name) || filepath.Base(name) != name {
			t.Errorf("file %q leaves its folder", name)
		}
	}
	data, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	got, err := decodeManifest("again", data)
	if err != nil {
		t.Fatal(err)
	}
	if want, is := mustEncode(t, m), mustEncode(t, got); !bytes.Equal(want, is) || !reflect.DeepEqual(m.Position(), got.Position()) {
		t.Errorf("%s\nis read again as\n%s", want, is)
	}
}

func mustEncode(t *testing.T, m *Manifest) []byte {
	t.Helper()
	data, err := m.encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
