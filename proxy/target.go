package proxy

import (
	"context"
	"slices"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
)

// Target connects to the server behind a proxy. It is called for each session host, and for
// stateless ones once for each set of capabilities that they declare. Behind a [Handler], calls
// during which a session server may ask its host get one each. With [WithSharedServer] it is
// called once for all. opts are what the proxy needs: pass them to [client.Connect] after options
// of your own.
type Target func(ctx context.Context, opts ...client.Option) (*client.Client, error)

// URL is a server that [client.Dial] reaches. It gets the headers of [WithForwardedHeaders].
func URL(url string, own ...client.Option) Target {
	return func(ctx context.Context, opts ...client.Option) (*client.Client, error) {
		return client.Connect(ctx, &transport.HTTP{URL: url, HeaderFunc: ForwardedHeaders(ctx)}, slices.Concat(own, opts)...)
	}
}

// Command is a server that [client.DialCommand] starts.
func Command(argv []string, own ...client.Option) Target {
	return func(ctx context.Context, opts ...client.Option) (*client.Client, error) {
		return client.DialCommand(ctx, argv, slices.Concat(own, opts)...)
	}
}
