// Command image makes the container image of a release from its static binaries, with the library
// of crane. It needs no container engine, no base image and no network. It is a module of its own,
// because the product needs none of it.
//
//	image -version V -revision COMMIT -created SECONDS -license FILE -out FILE OS/ARCH=BINARY...
//
// It writes a tar file with an OCI layout: one index, and below it one image for each binary. Then
// it prints the digest of the index, by which registries and runtimes name the image. The same
// files give the same bytes.
//
//	main.go    the flags, and the steps
//	image.go   the image of one platform: its configuration and its layer
//	layer.go   the files of the layer
//	layout.go  the OCI layout, packed into a tar file
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

func main() {
	var r release
	flag.StringVar(&r.version, "version", "", "name of the release")
	flag.StringVar(&r.revision, "revision", "", "commit of the release")
	created := flag.Int64("created", 0, "time of the commit, in seconds since 1970")
	flag.StringVar(&r.license, "license", "", "file with the licence")
	out := flag.String("out", "", "tar file to write")
	flag.Parse()
	if r.version == "" || r.revision == "" || *created <= 0 || r.license == "" || *out == "" || flag.NArg() == 0 {
		fmt.Fprintln(os.Stderr, "usage: image -version V -revision COMMIT -created SECONDS -license FILE -out FILE OS/ARCH=BINARY...")
		os.Exit(2)
	}
	r.created = time.Unix(*created, 0).UTC()
	digest, err := run(r, *out, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
	fmt.Println(digest)
}

// run writes the images of the binaries to a file, and returns the digest of their index.
func run(r release, out string, binaries []string) (v1.Hash, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arg := range binaries {
		name, binary, found := strings.Cut(arg, "=")
		if !found {
			return v1.Hash{}, fmt.Errorf("%q names no binary: write it as linux/amd64=FILE", arg)
		}
		p, err := v1.ParsePlatform(name)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("%q: %w", arg, err)
		}
		img, err := r.image(*p, binary)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("%s: %w", name, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: p}})
	}
	if err := write(out, index, r); err != nil {
		return v1.Hash{}, err
	}
	return index.Digest()
}
