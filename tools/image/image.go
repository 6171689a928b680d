package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// release describes what all images of a release share.
type release struct {
	version, revision string
	license           string // a file
	created           time.Time
}

// dataDir is the home of the user, and where a node keeps its state.
const dataDir = "/var/lib/tidemark"

// image makes the image of a platform. Its configuration is that of deploy/Dockerfile; a test
// compares them.
func (r release) image(p v1.Platform, binary string) (v1.Image, error) {
	files, err := r.layer(binary)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(files)), nil },
		tarball.WithCompressionLevel(gzip.BestCompression), tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	created := v1.Time{Time: r.created}
	base, err := mutate.ConfigFile(mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON), &v1.ConfigFile{
		OS: p.OS, Architecture: p.Architecture, Variant: p.Variant, Created: created, RootFS: v1.RootFS{Type: "layers"},
		Config: v1.Config{
			User:         "65532:65532",
			Env:          []string{"PATH=/usr/local/bin", "TIDEMARK_DATA_DIR=" + dataDir},
			ExposedPorts: map[string]struct{}{"8080/tcp": {}},
			Entrypoint:   []string{"tidemark"},
			Cmd:          []string{"run"},
			Labels:       r.labels(),
		},
	})
	if err != nil {
		return nil, err
	}
	return mutate.Append(base, mutate.Addendum{Layer: layer, History: v1.History{Created: created, CreatedBy: "tools/image"}})
}

// labels have the names of the OCI specification.
func (r release) labels() map[string]string {
	const name = "org.opencontainers.image."
	return map[string]string{
		name + "title":       "tidemark",
		name + "description": "Exact unread counts, read pointers and receipts for chat, from events in Kafka",
		name + "licenses":    "Apache-2.0",
		name + "source":      "https://github.com/tidemark/tidemark",
		name + "version":     r.version,
		name + "revision":    r.revision,
		name + "created":     r.created.Format(time.RFC3339),
	}
}
