// Package auth says who is asking (DESIGN §10, "Who is asking"): a JSON Web Token whose `sub` is the user.
//
// Keys come from a file or a JWKS address (keyset.go) and are rotated without a restart (keys.go). A key decides by its own
// type which algorithm it takes, so a token cannot choose (verify.go): no `none`, no RSA public key taken for an HMAC secret,
// no key that a token brings along or points to.
//
// Nothing here logs a token, and no error says more of one than why it was refused.
package auth
