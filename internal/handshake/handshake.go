// Package handshake marks the contexts of handshakes that a client makes again for all its
// callers. They have the values of the call that noticed the loss, which may be one of several.
package handshake

import "context"

type key struct{}

// Context returns a context for a handshake.
func Context(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, true) }

// Is reports whether a context is one of a handshake.
func Is(ctx context.Context) bool { return ctx.Value(key{}) != nil }
