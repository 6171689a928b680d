package preflight

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"github.com/tidemark/tidemark/internal/config"
	"github.com/tidemark/tidemark/processor"
)

// peerPatience is how long another node may take to answer: its /healthz costs it nothing.
const peerPatience = 5 * time.Second

// peers checks that the other nodes of the group fold with the same settings and can be reached.
func (c *Config) peers(ctx context.Context, r *Report, g kadm.DescribedGroup) {
	if g.Err != nil {
		r.Unknown("peers", fmt.Sprintf("the group %s: %v", c.Node.Group, g.Err), "to check the other nodes, grant the right Describe on the group")
		return
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = c.Node.PeerTLS
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport, Timeout: peerPatience}
	members, well := processor.MembersOf(g), 0
	for _, m := range members {
		name := m.Advertise
		if name == "" {
			name = "the node at " + m.Host
		}
		good := true
		bad := func(found, wayOut string) {
			good = false
			r.Failed("peer", found, wayOut)
		}
		if c.Node.Roles.Has(config.RoleProcessor) {
			own := c.Node.Settings.String()
			if m.Settings != "" && m.Settings != own {
				bad(fmt.Sprintf("%s folds with other settings (%s) than this one (%s)", name, m.Settings, own),
					"give all nodes of a group the same --fanout-limit, --receipt-limit, --send-marks-read, --index-retention and --trim-log")
			}
			if m.Standbys != c.Node.Standbys {
				bad(fmt.Sprintf("%s has --standbys %d, this one %d", name, m.Standbys, c.Node.Standbys), "give all nodes the same --standbys")
			}
			if c.Node.InstanceID != "" && m.InstanceID == c.Node.InstanceID {
				good = false
				r.Unknown("peer", fmt.Sprintf("%s has the instance id %s", name, m.InstanceID),
					"if that is this node before its restart, do nothing; else give each node an --instance-id of its own")
				continue // it need not run now
			}
		}
		if m.Advertise != "" {
			if err := healthy(ctx, client, m.Advertise); err != nil {
				bad(fmt.Sprintf("%s does not answer (%v)", name, err), "check the network to it, its --advertise, and --tls-ca or --peer-ca here if it is https")
			}
		}
		if good {
			well++
		}
	}
	if well == len(members) {
		r.OK("peers", fmt.Sprintf("%d in the group %s", well, c.Node.Group))
	}
	if c.Node.Advertise == "" {
		r.Unknown("advertise", "other nodes cannot reach this one: --listen has no host name or address that they could use", "set --advertise, unless this is the only node")
	}
}

func healthy(ctx context.Context, client *http.Client, url string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	_, _ = io.CopyN(io.Discard, res.Body, 4096) // so that the connection can be reused
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("/healthz is %s", res.Status)
	}
	return nil
}
