package faults

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// dialCases say how a dial fails, and after how long.
var dialCases = map[string]struct {
	fails func(err error) bool
	after time.Duration
}{
	"A1/nxdomain":      {fails: dns(func(e *net.DNSError) bool { return e.IsNotFound && e.Name == "server.example" })},
	"A1/servfail":      {fails: dns(func(e *net.DNSError) bool { return e.IsTemporary })},
	"A1/timeout":       {fails: dns(func(e *net.DNSError) bool { return e.IsTimeout }), after: 5 * time.Second},
	"A2":               {fails: func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
	"A3":               {fails: func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }, after: time.Minute},
	"A4":               {fails: func(err error) bool { return err == nil }, after: 300 * time.Millisecond},
	"A8/emfile":        {fails: func(err error) bool { return errors.Is(err, syscall.EMFILE) }},
	"A8/eaddrnotavail": {fails: func(err error) bool { return errors.Is(err, syscall.EADDRNOTAVAIL) }},
	"A9":               {fails: func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
}

func dns(is func(*net.DNSError) bool) func(error) bool {
	return func(err error) bool {
		var e *net.DNSError
		return errors.As(err, &e) && is(e)
	}
}

func TestFaultsOfDials(t *testing.T) {
	t.Parallel()
	for key, c := range dialCases {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				fault, form, _ := strings.Cut(key, "/")
				p, err := New(Plan{Rules: []Rule{{Fault: fault, Variant: form}}})
				require.NoError(t, err)
				dialed := 0
				dial := p.Dial(func(context.Context, string, string) (net.Conn, error) {
					dialed++
					ours, theirs := net.Pipe()
					return ours, theirs.Close()
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				_, err = dial(ctx, "tcp", "server.example:443")
				require.True(t, c.fails(err), err)
				require.Equal(t, c.after, time.Since(began))
				require.Equal(t, err == nil, dialed == 1)
				require.Equal(t, 1, p.Stats()[fault])
				p.Heal()
				_, err = dial(t.Context(), "tcp", "server.example:443")
				require.NoError(t, err)
			})
		})
	}
}

// connRig is a server behind the listener of the proxy, in memory.
type connRig struct {
	proxy     *Proxy
	server    *fakeServer
	pipe      *pipeListener
	authority *Authority
}

func newConnRig(t *testing.T, secure bool, rule Rule) *connRig {
	t.Helper()
	p, err := New(Plan{Rules: []Rule{rule}})
	require.NoError(t, err)
	rig := &connRig{proxy: p, server: &fakeServer{}, pipe: newPipeListener()}
	if secure {
		rig.authority, err = NewAuthority("server.example")
		require.NoError(t, err)
	}
	srv := NewServer(p.Handler(rig.server))
	srv.ErrorLog = nil
	l := p.Listen(rig.pipe, rig.authority)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l)
	}()
	t.Cleanup(func() {
		p.Heal()
		_ = srv.Close()
		<-done
	})
	return rig
}

func (r *connRig) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := r.pipe.dial(t.Context(), "", "")
	require.NoError(t, err)
	require.NoError(t, c.SetDeadline(time.Now().Add(time.Hour)))
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func (r *connRig) handshake(t *testing.T) error {
	t.Helper()
	return tls.Client(r.dial(t), &tls.Config{ServerName: "server.example", RootCAs: r.authority.Pool()}).HandshakeContext(t.Context())
}

// client is net/http's over HTTP/2.
func (r *connRig) client(t *testing.T) *http.Client {
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	pool := &http.Transport{DialContext: r.pipe.dial, Protocols: protocols}
	t.Cleanup(pool.CloseIdleConnections)
	return &http.Client{Transport: pool}
}

func (r *connRig) post(t *testing.T, c *http.Client, body string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://server.example/mcp", strings.NewReader(body))
	require.NoError(t, err)
	resp, err := c.Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	require.Equal(t, 2, resp.ProtoMajor)
	data, err := io.ReadAll(resp.Body)
	return string(data), err
}

var connCases = map[string]struct {
	rule   Rule
	secure bool
	calls  int
	check  func(t *testing.T, rig *connRig)
}{
	"A3": {check: func(t *testing.T, rig *connRig) {
		c := rig.dial(t)
		require.NoError(t, c.SetDeadline(time.Now().Add(time.Minute)))
		_, err := io.WriteString(c, "anything")
		require.ErrorContains(t, err, "timeout")
	}},
	"A5/expired": {secure: true, check: func(t *testing.T, rig *connRig) {
		var e x509.CertificateInvalidError
		require.ErrorAs(t, rig.handshake(t), &e)
		require.Equal(t, x509.Expired, e.Reason)
	}},
	"A5/unknown-ca": {secure: true, check: func(t *testing.T, rig *connRig) {
		var e x509.UnknownAuthorityError
		require.ErrorAs(t, rig.handshake(t), &e)
	}},
	"A5/wrong-host": {secure: true, check: func(t *testing.T, rig *connRig) {
		var e x509.HostnameError
		require.ErrorAs(t, rig.handshake(t), &e)
	}},
	"A6/hang": {secure: true, check: func(t *testing.T, rig *connRig) { require.ErrorContains(t, rig.handshake(t), "timeout") }},
	"A6/alert": {secure: true, check: func(t *testing.T, rig *connRig) {
		require.ErrorContains(t, rig.handshake(t), "handshake failure")
	}},
	"A9": {calls: 1, check: func(t *testing.T, rig *connRig) {
		down, err := rig.pipe.dial(t.Context(), "", "")
		require.NoError(t, err)
		_, err = down.Read(make([]byte, 1))
		require.ErrorIs(t, err, io.EOF)
		up := time.NewTimer(1500 * time.Millisecond)
		<-up.C
		c := rig.dial(t)
		post(c, call(1))
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		require.NoError(t, err)
		require.Equal(t, 200, resp.StatusCode)
	}},
	// net/http repeats both automatically: that the call arrives, once, is the proof
	// that the client knows that it was not processed.
	"B25/refused": {rule: Rule{When: Selector{Count: 1, Tools: []string{"add"}}}, calls: 1, check: func(t *testing.T, rig *connRig) {
		out, err := rig.post(t, rig.client(t), call(1))
		require.NoError(t, err)
		require.Contains(t, out, `"done"`)
	}},
	"B25/goaway": {rule: Rule{When: Selector{Count: 1}}, calls: 1, check: func(t *testing.T, rig *connRig) {
		out, err := rig.post(t, rig.client(t), call(1))
		require.NoError(t, err)
		require.Contains(t, out, `"done"`)
		require.Equal(t, []bool{false, true}, []bool{rig.proxy.History()[0].Sent, rig.proxy.History()[1].Sent})
	}},
	"B26/internal": {calls: 1, check: func(t *testing.T, rig *connRig) {
		_, err := rig.post(t, rig.client(t), call(1))
		require.ErrorContains(t, err, "INTERNAL_ERROR")
	}},
	"B26/calm": {rule: Rule{Unsent: true, When: Selector{Count: 1}}, calls: 1, check: func(t *testing.T, rig *connRig) {
		c := rig.client(t)
		_, err := rig.post(t, c, call(1))
		require.ErrorContains(t, err, "ENHANCE_YOUR_CALM")
		_, err = rig.post(t, c, call(2)) // the connection lives
		require.NoError(t, err)
	}},
	"B27/stall": {check: func(t *testing.T, rig *connRig) {
		c := rig.client(t)
		for id := range 2 {
			_, err := rig.post(t, c, call(id))
			require.ErrorIs(t, err, context.DeadlineExceeded)
		}
		require.Equal(t, uint32(0), rig.setting(t, settingInitialWindow))
	}},
	"B27/one-stream": {calls: 1, check: func(t *testing.T, rig *connRig) {
		_, err := rig.post(t, rig.client(t), call(1))
		require.NoError(t, err)
		require.Equal(t, uint32(1), rig.setting(t, settingMaxStreams))
	}},
}

// setting reads a value of the server's first frame.
func (r *connRig) setting(t *testing.T, id uint16) uint32 {
	t.Helper()
	c := r.dial(t)
	go func() { _, _ = io.WriteString(c, preface+"\x00\x00\x00\x04\x00\x00\x00\x00\x00") }()
	var raw []byte
	for {
		one, _, ok := cutFrame(raw)
		if !ok {
			block := make([]byte, 1024)
			n, err := c.Read(block)
			require.NoError(t, err)
			raw = append(raw, block[:n]...)
			continue
		}
		require.EqualValues(t, frameSettings, one.kind)
		for p := one.payload; len(p) >= 6; p = p[6:] {
			if binary.BigEndian.Uint16(p) == id {
				return binary.BigEndian.Uint32(p[2:])
			}
		}
		require.Fail(t, "no such setting")
	}
}

func TestFaultsOfConnections(t *testing.T) {
	t.Parallel()
	for key, c := range connCases {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			bubble(t, func(t *testing.T) {
				rule := c.rule
				rule.Fault, rule.Variant, _ = strings.Cut(key, "/")
				rig := newConnRig(t, c.secure, rule)
				c.check(t, rig)
				synctest.Wait()
				require.EqualValues(t, c.calls, rig.server.executed.Load())
				require.Positive(t, rig.proxy.Stats()[rule.Fault])
			})
		})
	}
}

// Without a fault, the listener speaks HTTP/1.1 and HTTP/2, plain and secure.
func TestConnectionsWithoutFault(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T) {
		rig := newConnRig(t, false, Rule{Fault: "B25", When: Selector{After: Duration(time.Hour)}})
		out, err := rig.post(t, rig.client(t), call(1))
		require.NoError(t, err)
		require.Contains(t, out, `"done"`)
		big := request(2, "tools/call", `{"name":"add","arguments":{"text":"`+strings.Repeat("x", 300<<10)+`"}}`)
		require.NoError(t, rig.proxy.Set(Plan{Rules: []Rule{{Fault: "B25", When: Selector{Tools: []string{"other"}}}}}))
		out, err = rig.post(t, rig.client(t), big)
		require.NoError(t, err)
		require.Contains(t, out, `"done"`)
	})
	bubble(t, func(t *testing.T) {
		rig := newConnRig(t, true, Rule{Fault: "B16", When: Selector{After: Duration(time.Hour)}})
		for _, h2 := range []bool{false, true} {
			pool := &http.Transport{
				DialContext: rig.pipe.dial, ForceAttemptHTTP2: h2,
				TLSClientConfig: &tls.Config{ServerName: "server.example", RootCAs: rig.authority.Pool()},
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://server.example/mcp", strings.NewReader(call(1)))
			require.NoError(t, err)
			resp, err := pool.RoundTrip(req)
			require.NoError(t, err)
			require.Equal(t, h2, resp.ProtoMajor == 2)
			data, err := io.ReadAll(resp.Body)
			require.NoError(t, err)
			require.Contains(t, string(data), `"done"`)
			require.NoError(t, resp.Body.Close())
			pool.CloseIdleConnections()
		}
	})
}
