package adopt

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/app/cluster"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// opening is a node whose partitions are not live yet, or are.
type opening struct {
	queryv1connect.UnimplementedQueryServiceHandler
	live bool
}

func (o *opening) ListUserChannels(context.Context, *connect.Request[queryv1.ListUserChannelsRequest]) (*connect.Response[queryv1.ListUserChannelsResponse], error) {
	if !o.live {
		return nil, connect.NewError(connect.CodeUnavailable, errors.New("partition 1 is being restored"))
	}
	return connect.NewResponse(&queryv1.ListUserChannelsResponse{AsOf: []string{"chat.messages/0/9", "chat.reads/1/3"}}), nil
}

// The position of a group comes from its partitions, and while one of them is not live, from the
// node's report: its own partitions, not those that it follows as a standby.
func TestPosition(t *testing.T) {
	node, status := &opening{}, http.StatusOK
	mux := http.NewServeMux()
	mux.Handle(queryv1connect.NewQueryServiceHandler(node))
	mux.HandleFunc(cluster.PathSelf, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(cluster.Report{Partitions: []cluster.Partition{
			{Partition: 0, Position: []int64{5, 0, 2}}, {Partition: 1, Position: []int64{7, 8, 9}, Standby: true}, {Partition: 2, Position: []int64{0, 1, 0}},
		}})
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	f := compareFlags{}
	f.Addr = server.URL + "/"
	inputs := []string{"v2.chat.messages", "v2.chat.reads", "v2.chat.deliveries"}
	got, err := f.position(t.Context(), inputs)
	if want := []string{"v2.chat.messages/0/4", "v2.chat.deliveries/0/1", "v2.chat.reads/2/0"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("while it opens: %q, %v; want %q", got, err, want)
	}
	node.live = true
	got, err = f.position(t.Context(), inputs)
	if want := []string{"chat.messages/0/9", "chat.reads/1/3"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("once it is live: %q, %v; want %q", got, err, want)
	}
	node.live, status = false, http.StatusForbidden
	if got, err = f.position(t.Context(), inputs); err == nil {
		t.Errorf("without the right to the report: %q", got)
	}
}
