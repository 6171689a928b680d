package live

import (
	"github.com/tidemark/tidemark/importer/product"
	"github.com/tidemark/tidemark/importer/product/tinode"
	"github.com/tidemark/tidemark/importer/product/zulip"
	"github.com/tidemark/tidemark/importer/source"
)

// New returns the mapper of a product's changes; nil if it has no bridge.
func New(name string, now source.Tables) product.Live {
	switch name {
	case "zulip":
		return zulip.New(now)
	case "tinode":
		return tinode.New(now)
	}
	return product.NewLive(name, now)
}
