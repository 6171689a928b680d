package erase_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	"github.com/tidemark/tidemark/app/erase"
	"github.com/tidemark/tidemark/cache"
	"github.com/tidemark/tidemark/query/queryv1"
	"github.com/tidemark/tidemark/query/queryv1/queryv1connect"
)

// keyFile writes a key as openssl does.
func keyFile(t *testing.T, key any) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// A certificate that was changed, or signed with another key, is refused; a file is never written
// over.
func TestCertificatesAreSigned(t *testing.T) {
	_, made, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	key, err := erase.ReadKey(keyFile(t, made))
	if err != nil {
		t.Fatal(err)
	}
	public := key.Public().(ed25519.PublicKey) //nolint:forcetypeassert // of an Ed25519 key
	res := &erase.Result{User: "ann", Before: []string{"chat.reads/0/3"}, Channels: []erase.Channel{{ChannelID: "c", ErasedAt: "chat.reads/0/4"}}}
	name := filepath.Join(t.TempDir(), "ann.json")
	if err := res.Certificate(time.Unix(7, 0)).Write(name, key); err != nil {
		t.Fatal(err)
	}
	c, signature, err := erase.ReadCertificate(name, public)
	if err != nil || c.User != "ann" || c.Kind != erase.KindErasure || !c.At.Equal(time.Unix(7, 0)) || len(c.Result.Channels) != 1 || len(signature) != ed25519.SignatureSize {
		t.Errorf("%+v, %v", c, err)
	}
	if err := res.Certificate(time.Unix(8, 0)).Write(name, key); err == nil {
		t.Error("a certificate was written over")
	}
	other, _, _ := ed25519.GenerateKey(nil)
	if _, _, err := erase.ReadCertificate(name, other); err == nil || !strings.Contains(err.Error(), "not signed with this key") {
		t.Errorf("another key: %v", err)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, bytes.Replace(b, []byte(`"ann"`), []byte(`"bob"`), 1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := erase.ReadCertificate(name, public); err == nil || !strings.Contains(err.Error(), "changed after") {
		t.Errorf("a changed one: %v", err)
	}
	if _, err := erase.ReadKey(name); err == nil || !strings.Contains(err.Error(), "openssl genpkey") {
		t.Errorf("a key that is none: %v", err)
	}
}

// scanned is a node that knows of ann that she was erased, or in one channel more.
type scanned struct {
	node
	more bool
}

func (n *scanned) ListUserChannels(context.Context, *connect.Request[queryv1.ListUserChannelsRequest]) (*connect.Response[queryv1.ListUserChannelsResponse], error) {
	list := []*queryv1.UserChannel{{ChannelId: "general", Erased: true}}
	if n.more {
		list = append(list, &queryv1.UserChannel{ChannelId: "new"})
	}
	return connect.NewResponse(&queryv1.ListUserChannelsResponse{Channels: list}), nil
}

// A scan finds channels and keys of Redis that know of the user, and else has a certificate.
func TestScan(t *testing.T) {
	n := &scanned{}
	c, rdb := setup(t, &n.node)
	mux := http.NewServeMux()
	mux.Handle(queryv1connect.NewQueryServiceHandler(n))
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	c.Query = queryv1connect.NewQueryServiceClient(http.DefaultClient, srv.URL)
	first := (&erase.Result{User: "ann", Channels: []erase.Channel{{ChannelID: "general", ErasedAt: "t/0/4"}}}).Certificate(time.Now())
	scan := func() (*erase.Certificate, []string) {
		t.Helper()
		second, found, err := erase.Scan(t.Context(), c, first)
		if err != nil {
			t.Fatal(err)
		}
		return second, found
	}
	if second, found := scan(); len(found) > 0 || second.Kind != erase.KindScan || second.User != "ann" || len(second.Result.Remains) == 0 {
		t.Errorf("%+v, %q", second, found)
	}
	n.more = true
	rdb.HSet(t.Context(), cache.InboxKey("ann"), "general", "{}")
	rdb.Set(t.Context(), cache.PresenceKey("ann"), "1", 0)
	if _, found := scan(); len(found) != 4 || !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, `"new"`) }) {
		t.Errorf("%q", found)
	}
	first.User = "bob"
	if _, _, err := erase.Scan(t.Context(), c, first); err == nil || !strings.Contains(err.Error(), `"ann"`) {
		t.Error(err)
	}
}
