package node

import (
	"cmp"
	"context"
	"time"

	"connectrpc.com/connect"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tidemark/tidemark/internal/trace"
	"github.com/tidemark/tidemark/internal/trace/otlp"
)

// traces are the spans of a node. All fields are nil without a collector: then no part of the node
// has a tracer, and nothing stands around its calls.
type traces struct {
	engine trace.Tracer
	calls  connect.Interceptor
	to     *otlp.Tracer
}

// closePatience bounds how long a collector may take for the last spans.
const closePatience = 2 * time.Second

func newTraces(ctx context.Context, c Config, r prometheus.Registerer) (t traces, err error) {
	if c.Traces.Endpoint == "" {
		return traces{}, nil
	}
	o := c.Traces
	o.Version, o.Instance, o.Registerer, o.Logger = c.Build.Version, cmp.Or(c.InstanceID, c.Advertise, c.Listener.Addr().String()), r, c.Logger.With("role", "traces")
	if t.to, err = otlp.New(ctx, o); err != nil {
		return traces{}, err
	}
	if t.calls, err = t.to.Calls(); err != nil {
		return traces{}, err
	}
	t.engine = t.to
	return t, nil
}

// close sends the spans that wait.
func (t traces) close() {
	if t.to == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closePatience)
	defer cancel()
	_ = t.to.Close(ctx) // what it could not send is counted and logged
}
