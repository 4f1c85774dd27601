package jsonrpc

import (
	"bufio"
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// peer is the scripted other end of a connection.
type peer struct {
	*testing.T
	conn *Conn
	in   *bufio.Reader // what the connection sends
	out  io.WriteCloser
	read io.Closer
}

// newPeer connects over pipes in memory, whose writes block until they are read.
func newPeer(t *testing.T, cfg Config) *peer {
	t.Helper()
	fromConn, connOut := io.Pipe()
	connIn, toConn := io.Pipe()
	p := &peer{T: t, conn: NewConn(connIn, connOut, cfg), in: bufio.NewReader(fromConn), out: toConn, read: fromConn}
	t.Cleanup(p.end)
	return p
}

// end closes everything.
func (p *peer) end() {
	_ = p.read.Close()
	_ = p.out.Close()
	_ = p.conn.Close()
}

// say sends raw text and a newline.
func (p *peer) say(text string) {
	p.Helper()
	p.sayPart(text + "\n")
}

// sayPart writes bytes without ending a line.
func (p *peer) sayPart(text string) {
	p.Helper()
	_, err := io.WriteString(p.out, text)
	require.NoError(p, err)
}

// hear returns the next message of the connection.
func (p *peer) hear() Message {
	p.Helper()
	text, err := p.in.ReadBytes('\n')
	require.NoError(p, err)
	m, err := Decode(text)
	require.NoError(p, err, "%s", text)
	return m
}

// outcome is how a call ended.
type outcome struct {
	resp Response
	err  error
}

// call starts a call and returns the channel of its outcome.
func (p *peer) call(ctx context.Context, id ID, wait Wait) <-chan outcome {
	return p.callWith(ctx, Request{ID: id, Method: "m"}, wait)
}

func (p *peer) callWith(ctx context.Context, req Request, wait Wait) <-chan outcome {
	done := make(chan outcome, 1)
	go func() {
		resp, err := p.conn.Call(ctx, req, wait)
		done <- outcome{resp, err}
	}()
	return done
}

// failed checks how a call failed.
func (o outcome) failed(t *testing.T, reason error, notSent bool) {
	t.Helper()
	var ce *CallError
	require.ErrorAs(t, o.err, &ce)
	require.ErrorIs(t, o.err, reason)
	require.Equal(t, notSent, ce.NotSent)
}
