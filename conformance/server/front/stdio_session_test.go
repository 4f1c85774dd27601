package front

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// again sends an initialize after the first and returns its answer.
func (p *peer) again(id, version string) string {
	p.t.Helper()
	p.send(strings.NewReplacer(`"init"`, id, "2025-06-18", version).Replace(initialize))
	return p.recv()
}

// open counts the sessions of the server.
func (p *peer) open() (n int) {
	for range p.server.Sessions() {
		n++
	}
	return n
}

func TestStdioSecondInitializeOpensASession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, 0)
		p.handshake()
		p.ask(`[`+call("1", "echo", `{}`)+`]`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: a batch is served in revision 2025-03-26 only, and not inside another","data":{"reason":"batch"}}}`)
		require.Contains(t, p.again(`"init"`, "2025-03-26"), `"protocolVersion":"2025-03-26"`)
		p.ask(`[`+call("1", "echo", `{}`)+`]`, `[`+echoed("1", `{}`)+`]`)
		synctest.Wait()
		require.Equal(t, 1, p.open(), "the first session has ended")
		p.end()
		require.Zero(t, p.open())
	})
}

func TestStdioCallOfAReplacedSessionIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, 0)
		p.handshake()
		p.send(call("1", "wait", `{}`))
		require.Contains(t, p.again(`2`, "2025-11-25"), `"id":2,"result"`)
		p.ask(call("1", "echo", `{"who":"second"}`), echoed("1", `{"who":"second"}`)) // the id is another client's
		require.Equal(t, 2, p.open())
		close(p.release)
		require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, p.recv())
		synctest.Wait()
		require.Equal(t, 1, p.open())
		p.end()
	})
}

func TestStdioCallOfAReplacedSessionIsCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, 0)
		p.handshake()
		p.send(call("1", "wait", `{}`))
		p.again(`2`, "2025-11-25")
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		p.ask(`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":1,"result":{}}`)
		synctest.Wait()
		require.Equal(t, 1, p.open())
		p.end()
	})
}

// Each session counts its requests from 1. Their ids differ on the wire, so that
// each answer, and each cancellation, finds the session that asked.
func TestStdioSessionsAskUnderDifferentIDs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, 0)
		asked := func() string {
			var m struct {
				ID     json.RawMessage
				Method string
			}
			require.NoError(t, json.Unmarshal([]byte(p.recv()), &m))
			require.Equal(t, "ping", m.Method)
			return string(m.ID)
		}
		answered := func(id, to string) {
			p.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, to))
		}
		p.handshake()
		p.send(call("1", "ask", `{}`))
		first := asked()
		p.again(`2`, "2025-11-25")
		p.send(call("3", "ask", `{}`))
		second := asked()
		require.NotEqual(t, first, second)
		for _, id := range []string{`"9.1"`, `"x.1"`, `"1.x"`, `"1"`, `99`} { // nobody has asked
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id))
		}
		answered(first, "1")
		answered(second, "3")

		p.send(call("4", "ask", `{}`))
		third := asked()
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4}}`)
		var m struct {
			Method string
			Params struct{ RequestID json.RawMessage }
		}
		require.NoError(t, json.Unmarshal([]byte(p.recv()), &m))
		require.Equal(t, "notifications/cancelled", m.Method)
		require.Equal(t, third, string(m.Params.RequestID))
		p.end()
	})
}

func TestStdioRefusedInitializeKeepsTheSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, 0)
		p.handshake()
		for _, params := range []string{`null`, `{"protocolVersion":7}`, `{"protocolVersion":"2025-03-26","capabilities":{"roots":1},"clientInfo":{"name":"t","version":"1"}}`} {
			p.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + params + `}`)
			require.Contains(t, p.recv(), `"id":1,"error"`)
			p.ask(call("1", "echo", `{}`), echoed("1", `{}`))
		}
		synctest.Wait()
		require.Equal(t, 1, p.open())
		p.end()
	})
}

// Sessions that a client opens and leaves cost nothing. The bubble ends only when
// every goroutine has.
func TestStdioManyInitializesLeaveNothingBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, 0)
		p.handshake()
		for i := range 10_000 {
			p.again(strconv.Itoa(i), "2025-11-25")
			require.LessOrEqual(t, p.open(), 2, "the current session, and one that ends")
		}
		p.ask(call("1", "echo", `{}`), echoed("1", `{}`))
		p.end()
		require.Zero(t, p.open())
	})
}

// A session in its last calls sends no news: the one in its place does.
func TestStdioNewsComeFromTheCurrentSession(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, 0)
		p.handshake()
		p.send(call("1", "wait", `{}`))
		p.again(`2`, "2025-11-25")
		p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		synctest.Wait()
		p.server.RemoveTools("echo")
		require.JSONEq(t, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}`, p.recv())
		synctest.Wait()
		close(p.release)
		require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, p.recv())
		p.end()
	})
}

// A session that has calls in flight stays. Their number is bounded.
func TestStdioReplacedSessionsAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, 0)
		p.handshake()
		for i := range maxReplaced {
			p.send(call("1", "wait", `{}`))
			require.Contains(t, p.again(`2`, "2025-11-25"), `"result"`, i)
		}
		p.send(call("1", "wait", `{}`))
		require.JSONEq(t, `{"jsonrpc":"2.0","id":2,"error":{"code":-32000,"message":"too many sessions have calls in flight","data":{"reason":"overloaded","limit":100}}}`, p.again(`2`, "2025-11-25"))
		p.ask(call("3", "echo", `{}`), echoed("3", `{}`))
		require.Equal(t, maxReplaced+1, p.open())
		close(p.release)
		for range maxReplaced + 1 {
			require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, p.recv())
		}
		require.Contains(t, p.again(`2`, "2025-11-25"), `"result"`)
		synctest.Wait()
		require.Equal(t, 1, p.open())
		p.end()
	})
}

// The end of the input waits for the calls of every session.
func TestStdioDrainWaitsForReplacedSessions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, 0)
		p.handshake()
		p.send(call("1", "wait", `{}`))
		p.again(`2`, "2025-11-25")
		go func() {
			time.Sleep(defaultGrace / 2)
			close(p.release)
		}()
		require.NoError(t, p.in.Close())
		require.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`, p.recv())
		require.NoError(t, <-p.ended)
	})
}
