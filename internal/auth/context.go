package auth

import "context"

// peerKey and identityKey are the keys of the caller in the context of a request.
type (
	peerKey     struct{}
	identityKey struct{}
)

// WithPeer marks the context of a request that another node of the cluster sent, and proved to have
// sent.
func WithPeer(ctx context.Context) context.Context {
	return context.WithValue(ctx, peerKey{}, true)
}

// FromPeer reports whether the request of this context comes from another node, with a proof. Only
// then do its forwarding headers count. The node that forwarded it has applied the limits by user
// and address.
func FromPeer(ctx context.Context) bool {
	proven, _ := ctx.Value(peerKey{}).(bool)
	return proven
}

// WithIdentity adds the verified caller to a context.
func WithIdentity(ctx context.Context, id Identity) context.Context {
	return context.WithValue(ctx, identityKey{}, id)
}

// IdentityOf returns the verified caller. ok is false if none was verified: there are no keys, or
// the check has not happened yet.
func IdentityOf(ctx context.Context) (id Identity, ok bool) {
	id, ok = ctx.Value(identityKey{}).(Identity)
	return id, ok
}
