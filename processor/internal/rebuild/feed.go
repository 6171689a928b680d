package rebuild

import (
	"strconv"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/tidemark/tidemark/processor/internal/fetch"
)

// Clients is how many clients fetch for a rebuild. A client handles answers on its connection to a
// broker one after the other, and its consumer decodes a whole answer before it delivers any
// record. With two clients some partitions fold while others are fetched; more were no faster.
const Clients = 2

// openFeeders creates the feeders among which the partitions are spread.
func (r *rebuild) openFeeders() (list []*fetch.Feeder, err error) {
	for i := range Clients {
		id := kgo.ClientID("tidemark-rebuild-" + strconv.Itoa(i))
		client, err := kgo.NewClient(append(r.engine.TailOptions(), id, kgo.FetchMaxWait(fetch.RebuildWait), kgo.FetchMaxPartitionBytes(r.cfg.FetchBytes))...)
		if err != nil {
			closeFeeders(list)
			return nil, err
		}
		list = append(list, fetch.NewFeeder(client, r.cfg.Topics.Inputs))
	}
	return list, nil
}

func closeFeeders(list []*fetch.Feeder) {
	for _, f := range list {
		f.Client.Close()
	}
}
