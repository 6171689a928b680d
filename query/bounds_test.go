package query

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/internal/test/authtest"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

func gzipped(t *testing.T, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A few KiB that unpack into millions of events, or of entries within one, cost a node a few MiB at
// most, and nothing where no valid token comes with them: that is looked at first.
func TestABombOfEventsIsCheap(t *testing.T) {
	_, producer := newBroker(t)
	srv := serve(t, Handler(Config{Node: noNode{}, Producer: producer, Verifier: authtest.Verifier(t)}))
	empty := bytes.Repeat([]byte{0x0a, 0}, 4_190_000)
	// One event, with one list of 4,000,000 empty user ids: fields 1 (message), 14 (members_joined)
	// and 1 (user_ids).
	ids := bytes.Repeat([]byte{0x0a, 0}, 4_000_000)
	nested := field(1, field(1, field(14, ids)))
	jsonEvents := []byte(`{"events":[` + strings.Repeat(`{},`, 2_700_000) + `{}]}`)
	jsonIDs := []byte(`{"events":[{"message":{"members_joined":{"user_ids":[` + strings.Repeat(`"",`, 2_700_000) + `""]}}}]}`)
	for _, c := range []struct {
		name, contentType string
		body              []byte
		message           string
	}{
		{"events", "application/proto", empty, "events has more than 1000 events"},
		{"entries of one event", "application/proto", nested, "more than 524288 fields and list entries"},
		{"events in JSON", "application/json", jsonEvents, "events has more than 1000 events"},
		{"entries of one event in JSON", "application/json", jsonIDs, "more than 524288 fields and list entries"},
	} {
		for _, caller := range []struct {
			name, token, message string
			status               int
			bytes                uint64
		}{
			{"nobody", "", "no token", http.StatusUnauthorized, 4 << 20},
			{"a forger", "e30.e30.e30", "the token is not valid", http.StatusUnauthorized, 4 << 20},
			{"a user", authtest.Token(t, "ann", 1<<40), "the scope", http.StatusForbidden, 4 << 20},
			{"a service", authtest.Service(t), c.message, http.StatusBadRequest, 80 << 20},
		} {
			body := gzipped(t, c.body)
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.URL+"/tidemark.ingest.v1.IngestService/Publish", bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", c.contentType)
			req.Header.Set("Content-Encoding", "gzip")
			if caller.token != "" {
				req.Header.Set("Authorization", "Bearer "+caller.token)
			}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			status, got := do(t, srv.Client(), req)
			runtime.ReadMemStats(&after)
			spent := after.TotalAlloc - before.TotalAlloc
			t.Logf("%s of %s, %d bytes: %d in %d KiB", c.name, caller.name, len(body), status, spent>>10)
			if status != caller.status || !strings.Contains(got, caller.message) {
				t.Errorf("%s of %s: %d %.300s, want %d … %s", c.name, caller.name, status, got, caller.status, caller.message)
			}
			if spent > caller.bytes {
				t.Errorf("%s of %s: %d KiB were allocated, want at most %d", c.name, caller.name, spent>>10, caller.bytes>>10)
			}
		}
	}
}

// do sends a request and reads the answer.
func do(t testing.TB, client *http.Client, req *http.Request) (status int, answer string) {
	t.Helper()
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// field is a length-delimited field of a Protobuf message.
func field(num int, value []byte) []byte {
	out := []byte{byte(num<<3 | 2)}
	for n := len(value); ; n >>= 7 {
		if n < 0x80 {
			return append(append(out, byte(n)), value...)
		}
		out = append(out, byte(n)|0x80)
	}
}

// `after` is refused by its length before it is decoded, in either encoding and by both protocols.
func TestTokensBeyondThePartitionsAreRefused(t *testing.T) {
	c := newCluster(t, 4, 1)
	c.join("general", "ann")
	ask := func(opt connect.ClientOption, n int) error {
		tokens := make([]string, n)
		for i := range tokens {
			tokens[i] = "chat.messages/" + strconv.Itoa(i%4) + "/0"
		}
		q := queryv1connect.NewQueryServiceClient(c.nodes[0].srv.Client(), c.nodes[0].srv.URL, opt)
		_, err := q.GetChannel(t.Context(), connect.NewRequest(&queryv1.GetChannelRequest{ChannelId: "general", After: tokens[:min(n, 12)]}))
		if n > 12 {
			_, err = q.GetChannel(t.Context(), connect.NewRequest(&queryv1.GetChannelRequest{ChannelId: "general", After: tokens}))
		}
		return err
	}
	for name, opt := range map[string]connect.ClientOption{"Protobuf": connect.WithGRPCWeb(), "JSON": connect.WithProtoJSON()} {
		for _, n := range []int{13, 500, 12_288, 30_000} {
			err := ask(opt, n)
			wantCode(t, name, err, connect.CodeInvalidArgument)
			if err != nil && !strings.Contains(err.Error(), "after has more than 12 tokens, three for each partition") {
				t.Errorf("%s, %d tokens: %v", name, n, err)
			}
		}
	}
}
