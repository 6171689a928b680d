package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/projections"
)

// Format is the version of the manifest of docs/formats.md.
const Format = 1

// Manifest describes a snapshot: the identity of its store, its position, its digest and its files.
type Manifest struct {
	Format     int          `json:"format"`
	WrittenAt  time.Time    `json:"written_at"`
	Store      uint64       `json:"store_format"`
	Fold       uint64       `json:"fold_version"`
	Cluster    string       `json:"cluster_id"`
	Topics     []Topic      `json:"topics"`
	Partition  int32        `json:"partition"`
	Partitions int32        `json:"partitions"`
	Settings   SettingsJSON `json:"settings"`
	Digest     string       `json:"digest"`
	Files      []File       `json:"files"`
}

// Topic is an input with the position in it.
type Topic struct {
	Name   string `json:"name"`
	ID     string `json:"id"`
	Offset int64  `json:"offset"` // next to fold
}

// SettingsJSON are projections.Settings.
type SettingsJSON struct {
	FanoutLimit    uint32 `json:"fanout_limit"`
	ReceiptLimit   uint32 `json:"receipt_limit"`
	SendMarksRead  bool   `json:"send_marks_read"`
	IndexRetention int64  `json:"index_retention_ms"`
	TrimLog        bool   `json:"trim_log,omitempty"`
}

// File is a file of the store.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Object string `json:"object"` // its key below the partition's prefix
}

// ManifestError explains why a manifest cannot be used.
type ManifestError struct {
	Where  string
	Reason string
	// Newer means that the manifest is from a newer version, and not damaged.
	Newer bool
}

func (e *ManifestError) Error() string { return fmt.Sprintf("manifest %s: %s", e.Where, e.Reason) }

// newManifest describes a checkpoint that was inspected.
func newManifest(x *projections.Inspection, at time.Time) *Manifest {
	m := &Manifest{
		Format: Format, WrittenAt: at.UTC().Truncate(time.Millisecond), Store: x.Format, Fold: x.Fold, Cluster: x.Identity.ClusterID,
		Partition: x.Identity.Partition, Partitions: x.Identity.Partitions, Digest: hex.EncodeToString(x.Digest[:]),
		Settings: SettingsJSON(x.Identity.Settings),
	}
	for i, t := range x.Identity.Topics {
		m.Topics = append(m.Topics, Topic{Name: t.Name, ID: hex.EncodeToString(t.ID[:]), Offset: x.Position[i]})
	}
	return m
}

// Position returns how far the inputs were folded.
func (m *Manifest) Position() (v projections.Position) {
	for i := range v {
		v[i] = m.Topics[i].Offset
	}
	return v
}

// Identity returns the identity of the store.
func (m *Manifest) Identity() projections.Identity {
	id := projections.Identity{ClusterID: m.Cluster, Partition: m.Partition, Partitions: m.Partitions,
		Settings: projections.Settings(m.Settings)}
	for i := range id.Topics {
		id.Topics[i].Name = m.Topics[i].Name
		_, _ = hex.Decode(id.Topics[i].ID[:], []byte(m.Topics[i].ID)) // check has validated it
	}
	return id
}

// Bytes returns the size of all files.
func (m *Manifest) Bytes() (n int64) {
	for i := range m.Files {
		n += m.Files[i].Size
	}
	return n
}

// A manifest is one JSON object in which the hash of its second part comes first, at fixed places:
//
//	{"sha256":"<64 hex digits>","manifest":{…}}\n
const (
	sealHead = `{"sha256":"`
	sealMid  = `","manifest":`
	sealTail = "}\n"
	bodyAt   = len(sealHead) + 2*sha256.Size + len(sealMid)
)

// maxManifest is the largest size of a manifest, in bytes.
const maxManifest = 64 << 20

// encode returns the manifest as it is stored. Equal manifests have equal bytes.
func (m *Manifest) encode() ([]byte, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	out := make([]byte, 0, bodyAt+len(body)+len(sealTail))
	out = append(out, sealHead...)
	out = hex.AppendEncode(out, sum[:])
	out = append(out, sealMid...)
	out = append(out, body...)
	return append(out, sealTail...), nil
}

// decodeManifest decodes the result of encode. Any changed, missing or added byte is an error.
func decodeManifest(where string, data []byte) (*Manifest, error) {
	bad := func(format string, args ...any) (*Manifest, error) {
		return nil, &ManifestError{Where: where, Reason: fmt.Sprintf(format, args...)}
	}
	if len(data) < bodyAt+len(sealTail) || !bytes.HasPrefix(data, []byte(sealHead)) || !bytes.HasSuffix(data, []byte(sealTail)) ||
		string(data[bodyAt-len(sealMid):bodyAt]) != sealMid {
		return bad("it is damaged: it does not have the form of a manifest")
	}
	body := data[bodyAt : len(data)-len(sealTail)]
	sum := sha256.Sum256(body)
	if want := hex.AppendEncode(nil, sum[:]); !bytes.Equal(want, data[len(sealHead):len(sealHead)+len(want)]) {
		return bad("it is damaged: its hash is not that of its content")
	}
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(body, &version); err != nil {
		return bad("it cannot be read: %v", err)
	}
	if version.Format > Format {
		return nil, &ManifestError{Where: where, Newer: true, Reason: fmt.Sprintf("it was written by a newer version (format %d; this "+
			"build knows %d): run the newer version", version.Format, Format)}
	}
	m := &Manifest{}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(m); err != nil {
		return bad("it cannot be read: %v", err)
	}
	if err := m.check(); err != nil {
		return bad("it makes no sense: %v", err)
	}
	return m, nil
}

// check refuses values that no writer writes. Names become paths, so it checks them strictly.
func (m *Manifest) check() error {
	switch {
	case m.Format != Format:
		return fmt.Errorf("format %d", m.Format)
	case len(m.Topics) != int(events.NumInputs):
		return fmt.Errorf("%d topics", len(m.Topics))
	case m.Partition < 0 || m.Partition >= m.Partitions:
		return fmt.Errorf("partition %d of %d", m.Partition, m.Partitions)
	case !isHex(m.Digest, 16):
		return errors.New("its digest has not 32 digits")
	case len(m.Files) == 0:
		return errors.New("it names no files")
	}
	for _, t := range m.Topics {
		if !isHex(t.ID, 16) || t.Offset < 0 {
			return fmt.Errorf("topic %q with id %q at offset %d", t.Name, t.ID, t.Offset)
		}
	}
	names := map[string]bool{}
	for i := range m.Files {
		f := &m.Files[i]
		if !plainName(f.Name) || names[f.Name] || f.Size < 0 || !isHex(f.SHA256, sha256.Size) || !isObject(f.Object, f.SHA256) {
			return fmt.Errorf("file %q of %d bytes in object %q", f.Name, f.Size, f.Object)
		}
		names[f.Name] = true
	}
	return nil
}

func isHex(s string, n int) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == n
}

// plainName reports whether a file name stays in its directory.
func plainName(s string) bool {
	if s == "" || len(s) > 255 || s[0] == '.' {
		return false
	}
	for _, r := range s {
		if (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-' && r != '_' && r != '.' {
			return false
		}
	}
	return true
}
