package proxy

import (
	"context"
	"io"
)

// Stdio serves one host over a pair of streams, usually stdin and stdout of the process, until
// the host closes in, ctx ends or out fails. Open requests then have a few seconds to finish.
// Stdio cancels the others and answers them with an error, ends the server, closes both
// streams and returns: nil after the end of in, else the reason.
//
// Each request decides its era: the stateless one if its _meta names a revision, else that
// of the session. If the server cannot be reached, the host gets the error as the answer to
// its first request, and its next one tries again; several [Servers] do not fail it.
func Stdio(ctx context.Context, in io.ReadCloser, out io.WriteCloser, to Server, opts ...Option) error {
	set := newSettings(opts)
	to, end := set.shared(ctx, to)
	defer end()
	h := newHost(ctx, to, set)
	p := newPipe(h, in, out)
	var reason error
	select {
	case <-p.conn.Done():
	case <-h.reach.Done():
		select {
		case <-h.ending: // a host that has closed one stream may close the other
		default:
			reason = context.Cause(h.reach)
		}
	case <-ctx.Done():
		reason = context.Cause(ctx)
		p.drain(stopTime, reason)
	}
	h.close()
	_ = p.conn.Close() // a stream that does not close changes nothing for the host
	return reason
}
