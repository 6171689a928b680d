package peers

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/tidemark/tidemark/internal/peer"
)

// TestClientsOfPeersAreBounded: nodes come back at other addresses again and again.
func TestClientsOfPeersAreBounded(t *testing.T) {
	p := New(&peer.Proof{}, http.DefaultTransport, nil)
	for i := range 10 * maxClients {
		url := fmt.Sprintf("http://10.0.%d.%d:8080", i/256, i%256)
		c, err := p.Client(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := p.Client(t.Context(), url); err != nil || again != c {
			t.Fatalf("%s has another client at once, %v", url, err)
		}
		if len(p.clients) > maxClients {
			t.Fatalf("%d clients are remembered, want at most %d", len(p.clients), maxClients)
		}
	}
}
