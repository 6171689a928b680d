package adopt

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/events"
	"github.com/tidemark/tidemark/query/queryv1"
)

// positionTimeout bounds a look at the position.
const positionTimeout = 5 * time.Second

// position returns the tokens of the last records that are folded. ListUserChannels reads all
// partitions of the group, but fails if one is not live yet. Then the node's own report has the
// partitions of this node.
func (f *compareFlags) position(ctx context.Context, inputs []string) (tokens []string, err error) {
	ctx, cancel := context.WithTimeout(ctx, positionTimeout)
	defer cancel()
	all, err := f.Service().ListUserChannels(ctx, connect.NewRequest(&queryv1.ListUserChannelsRequest{OfUserId: "-", PageSize: 1}))
	if err == nil {
		return all.Msg.AsOf, nil
	}
	client, token := f.HTTP()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(f.Addr, "/")+"/v1/node", http.NoBody)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the node does not report its position: %s", res.Status)
	}
	var report struct {
		Partitions []struct {
			Partition int32   `json:"partition"`
			Standby   bool    `json:"standby"`
			Position  []int64 `json:"position"`
		} `json:"partitions"`
	}
	if err := json.NewDecoder(res.Body).Decode(&report); err != nil {
		return nil, fmt.Errorf("the node's report: %w", err)
	}
	for _, p := range report.Partitions {
		for i, next := range p.Position {
			if next > 0 && i < len(inputs) && !p.Standby {
				tokens = append(tokens, events.RecordID{Topic: inputs[i], Partition: p.Partition, Offset: next - 1}.String())
			}
		}
	}
	return tokens, nil
}
