package auth

import "testing"

// A request without an identity in its context is neither a node's nor a user's.
func TestOfACallerNothingIsAssumed(t *testing.T) {
	ctx := t.Context()
	if _, known := IdentityOf(ctx); known || FromPeer(ctx) {
		t.Error("an empty context has a caller")
	}
	if !FromPeer(WithPeer(ctx)) {
		t.Error("the mark of a node is lost")
	}
	if id, known := IdentityOf(WithIdentity(ctx, Identity{Subject: "ann"})); !known || id.Subject != "ann" {
		t.Errorf("%+v, %v", id, known)
	}
}
