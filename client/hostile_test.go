package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// These are the failures seen in other clients (performance.md 2), each with
// the right answer. Servers over pipes are here; programs and HTTP are in
// hostile_program_test.go and hostile_http_test.go.

var message = map[string]any{"message": "m"}

// answerRaw makes the server answer tools/call with a line in which ID is replaced by
// the id of the request. It does not change other lines.
func answerRaw(s *fakeServer, line string) {
	s.on("tools/call", func(req jsonrpc.Request) any {
		return rawLine(strings.ReplaceAll(line, "ID", string(req.ID.AppendJSON(nil))))
	})
}

// park has the server keep its answers to a method back: the requests are given
// to the test.
func park(s *fakeServer, method string) <-chan jsonrpc.Request {
	parked := make(chan jsonrpc.Request, 16)
	s.on(method, func(req jsonrpc.Request) any { parked <- req; return nil })
	return parked
}

// A message that breaks the rules fails the call it answers, at once, and
// nothing else.
func TestHostileAnswers(t *testing.T) {
	t.Parallel()
	nested := strings.Repeat(`{"a":`, 1_500) + "1" + strings.Repeat("}", 1_500)
	tests := []struct {
		name, line, says string
	}{
		{"two results", `{"jsonrpc":"2.0","id":ID,"result":{"content":[]},"result":{"content":[]}}`, "duplicate"},
		{"result and error", `{"jsonrpc":"2.0","id":ID,"result":{},"error":{"code":1,"message":"x"}}`, "exactly one"},
		{"RESULT", `{"jsonrpc":"2.0","id":ID,"RESULT":{"content":[]}}`, "a method, a result or an error"},
		{"no version", `{"id":ID,"result":{"content":[]}}`, "jsonrpc"},
		{"1,500 levels", `{"jsonrpc":"2.0","id":ID,"result":` + nested + `}`, "deeper"},
		{"100,000 levels", `{"jsonrpc":"2.0","id":ID,"result":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`, "deeper"},
		{"broken off", `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"te`, "not a JSON-RPC message"},
		{"over the limit", `{"jsonrpc":"2.0","id":ID,"result":{"x":"` + strings.Repeat("x", 70<<10) + `"}}`, "larger than 64 KiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				tr, s := newFake(t)
				tr.Limits = transport.Limits{MessageBytes: 64 << 10}
				if strings.HasPrefix(tt.name, "100,000") {
					tr.Limits.MessageBytes = 1 << 20
				}
				c, err := client.Connect(t.Context(), tr, sessionEra)
				require.NoError(t, err)
				defer func() { require.NoError(t, c.Close()) }()
				parked := park(s, "ping")
				other := make(chan error, 1)
				go func() { other <- c.Ping(t.Context()) }()
				ping := <-parked

				answerRaw(s, tt.line)
				began := time.Now()
				_, err = c.CallTool(t.Context(), "echo", message)
				unusable(tt.says).check(t, err)
				require.Zero(t, time.Since(began))

				s.write(wellAnswered(ping))
				require.NoError(t, <-other)
				s.result("tools/call", `{"content":[]}`)
				_, err = c.CallTool(t.Context(), "echo", message)
				require.NoError(t, err)
			})
		})
	}
}

// unusable is the error of an answer whose id was read, and no more.
func unusable(says string) wantError {
	if says == "deeper" || strings.HasPrefix(says, "larger") {
		return wantError{mcperrors.CodeIncompatible, mcperrors.KindTooLarge, one(mcperrors.Answered), []string{says, "raise Limits."}}
	}
	return wantError{mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, one(mcperrors.Answered), []string{says}}
}

// Members are matched by their exact names inside a result too.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	c, s := connected(t)
	answerRaw(s, `{"jsonrpc":"2.0","id":ID,"result":{"CONTENT":[{"type":"text","text":"taken"}],"content":[{"type":"text","text":"right"}],"IsError":true}}`)
	res, err := c.CallTool(t.Context(), "echo", message)
	require.NoError(t, err)
	require.Equal(t, "right", res.Text())
	require.False(t, res.IsError)
}

// What belongs to no call is skipped, and the first of it logged: log lines,
// messages without id, answers to nobody.
func TestHostileNoise(t *testing.T) {
	t.Parallel()
	var logged lines
	c, s := connected(t, client.WithLogger(logged.logger()))
	parked := park(s, "ping")
	var pings sync.WaitGroup
	for range 2 { // two, so that nothing without id can be told to be for one
		pings.Go(func() {
			if err := c.Ping(t.Context()); err != nil {
				t.Errorf("ping: %v", err)
			}
		})
	}
	first, second := <-parked, <-parked
	for _, line := range []string{
		"2025-01-01 INFO started",
		"[INFO] listening",
		`{"jsonrpc":"2.0","result":{}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"what?"}}`,
		`{"jsonrpc":"2.0","id":"nobody","result":{}}`,
		`{"jsonrpc":"2.0"}`,
		`[{"jsonrpc":"2.0","method":"x"}]`,
		"\x00\xff\xfe",
		"",
	} {
		s.write(line)
	}
	_, err := c.CallTool(t.Context(), "echo", message)
	require.NoError(t, err)
	s.write(wellAnswered(second))
	s.write(wellAnswered(first))
	pings.Wait()
	require.Contains(t, logged.String(), "2025-01-01 INFO started")
	require.Contains(t, logged.String(), "a result needs the id of its request")
	require.NotContains(t, logged.String(), "[INFO] listening", "of each kind only the first")
}

// A line that begins as a message does, and is none, gets the warning of any other
// noise.
func TestHostileNoiseInBraces(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"hello", "{starting up}", `{"level":"info","msg":"x"}`, `{"level":info}`, "{", "[INFO] ready"} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			var logged lines
			c, s := connected(t, client.WithLogger(logged.logger()))
			s.write(line)
			require.NoError(t, c.Ping(t.Context()))
			require.Contains(t, logged.String(), "skipped a line on the server's stdout that is not MCP")
			require.NotContains(t, logged.String(), "invalid message from the server")
		})
	}
}

// On a stream an answer with another id is nobody's: the call waits, and ends
// by its idle timeout.
func TestHostileOtherID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := connected(t)
		answerRaw(s, `{"jsonrpc":"2.0","id":"else","result":{"content":[]}}`)
		began := time.Now()
		_, err := c.CallTool(t.Context(), "echo", message)
		wantError{mcperrors.CodeTimeout, mcperrors.KindTimeout, one(mcperrors.Unknown), []string{"no progress within 60s"}}.check(t, err)
		require.Equal(t, time.Minute, time.Since(began))
	})
}

// Close ends a call that has no deadline, and is bounded, even when a handler
// does not return.
func TestHostileCloseInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(chan struct{})
		c, s := connected(t, client.OnNotification(func(context.Context, jsonrpc.Notification) { <-stuck }))
		s.on("tools/call", func(jsonrpc.Request) any { return nil })
		s.notify("notifications/whatever", "{}")
		done := make(chan error, 1)
		go func() {
			_, err := c.CallTool(t.Context(), "echo", message, client.WithTimeouts(-1, -1))
			done <- err
		}()
		synctest.Wait()
		began := time.Now()
		closed := make(chan error, 1)
		go func() { closed <- c.Close() }()
		err := <-done
		wantError{mcperrors.CodeUnavailable, mcperrors.KindClosed, one(mcperrors.Unknown), []string{"closed"}}.check(t, err)
		require.Zero(t, time.Since(began))
		require.NoError(t, <-closed)
		require.LessOrEqual(t, time.Since(began), time.Second)
		_, err = c.CallTool(t.Context(), "echo", message)
		wantError{mcperrors.CodeUnavailable, mcperrors.KindClosed, one(mcperrors.NotSent), []string{"closed"}}.check(t, err)
		close(stuck)
	})
}

// A server that does not read blocks nobody: contexts and timeouts hold, and
// Close is bounded.
func TestHostileServerDoesNotRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := connected(t)
		stuck := make(chan struct{})
		defer close(stuck)
		s.on("stop/reading", func(jsonrpc.Request) any { <-stuck; return nil }) // runs where the server reads
		go func() { _, _ = c.Call(t.Context(), "stop/reading", nil) }()
		synctest.Wait()
		large := map[string]any{"message": strings.Repeat("x", 1<<20)}
		for _, args := range []map[string]any{large, message} {
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
			began := time.Now()
			_, err := c.CallTool(ctx, "echo", args)
			var e *mcperrors.Error
			require.ErrorAs(t, err, &e)
			require.Equal(t, mcperrors.KindTimeout, e.Kind)
			require.Equal(t, 3*time.Second, time.Since(began))
			cancel()
		}
		began := time.Now()
		require.NoError(t, c.Close())
		require.LessOrEqual(t, time.Since(began), 2*time.Second)
	})
}

// 50,000 notifications before an answer cost no more than reading them.
func TestHostileFlood(t *testing.T) {
	t.Parallel()
	count := testmain.Fewer(50_000, 10)
	c, s := connected(t)
	s.on("tools/call", func(req jsonrpc.Request) any {
		line := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}` + "\n"
		s.write(strings.Repeat(line, count) + wellAnswered(req))
		return nil
	})
	began := time.Now()
	_, err := c.CallTool(t.Context(), "echo", message)
	require.NoError(t, err)
	require.Less(t, time.Since(began), 10*time.Second) // 132 KB and 106 µs each took others 5.3 s on a quiet machine
}

// Handlers that block delay neither answers nor pings, and the log reports what was
// dropped meanwhile.
func TestHostileSlowHandler(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var logged lines
		release := make(chan struct{})
		var delivered atomic.Int64
		c, s := connected(t, client.WithLogger(logged.logger()),
			client.OnNotification(func(context.Context, jsonrpc.Notification) {
				delivered.Add(1)
				<-release
			}))
		for range 3000 {
			s.notify("notifications/whatever", "{}")
		}
		began := time.Now()
		_, err := c.CallTool(t.Context(), "echo", message)
		require.NoError(t, err)
		s.write(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		synctest.Wait()
		require.Contains(t, s.received(), `{"jsonrpc":"2.0","id":"p","result":{}}`)
		require.Zero(t, time.Since(began))
		require.Equal(t, int64(1), delivered.Load())
		close(release)
		synctest.Wait()
		require.Equal(t, int64(1025), delivered.Load(), "the one that blocked and the last 1,024")
		dropped := 0 // over all lines: while more come, a line is written for those so far
		for _, count := range regexp.MustCompile(`count=(\d+)`).FindAllStringSubmatch(logged.String(), -1) {
			n, err := strconv.Atoi(count[1])
			require.NoError(t, err)
			dropped += n
		}
		require.Equal(t, 1975, dropped)
	})
}

// A server may ping before it has answered anything, and even before this side
// has said anything.
func TestHostilePingDuringHandshake(t *testing.T) {
	t.Parallel()
	for range 20 { // the race it is about does not always happen
		tr, s := newFake(t)
		s.wire.waive(t, "a ping may be answered before initialize is sent, when there is no revision")
		s.on("initialize", func(jsonrpc.Request) any {
			s.write(`{"jsonrpc":"2.0","id":"second","method":"ping"}`)
			return json.RawMessage(initResult)
		})
		go s.write(`{"jsonrpc":"2.0","id":"first","method":"ping"}`)
		c, err := client.Connect(t.Context(), tr, sessionEra)
		require.NoError(t, err)
		for _, id := range []string{"first", "second"} {
			require.Eventually(t, func() bool {
				return strings.Contains(strings.Join(s.received(), "\n"), `{"jsonrpc":"2.0","id":"`+id+`","result":{}}`)
			}, 5*time.Second, time.Millisecond)
		}
		require.NoError(t, ignoreClosed(c.Close()))
	}
}

// What is not offered is refused; notifications never are.
func TestHostileServerRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := connected(t)
		before := len(s.received())
		for i, method := range []string{"sampling/createMessage", "roots/list", "elicitation/create", "initialize", "x/y"} {
			s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{}}`, i, method))
		}
		s.notify("notifications/unknown", "{}")
		synctest.Wait()
		got := s.received()[before:]
		require.Len(t, got, 5)
		for _, line := range got {
			m, err := jsonrpc.Decode([]byte(line))
			require.NoError(t, err)
			require.ErrorIs(t, m.(jsonrpc.Response).Error, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound})
		}
		require.NoError(t, c.Ping(t.Context()))
	})
}

// cancelledIDs are the ids that notifications/cancelled named.
func cancelledIDs(t *testing.T, received []string) []jsonrpc.ID {
	t.Helper()
	var ids []jsonrpc.ID
	for _, line := range received {
		m, err := jsonrpc.Decode([]byte(line))
		if n, ok := m.(jsonrpc.Notification); err == nil && ok && n.Method == mcp.MethodCancelled {
			var p struct{ RequestID jsonrpc.ID }
			require.NoError(t, json.Unmarshal(n.Params, &p))
			ids = append(ids, p.RequestID)
		}
	}
	return ids
}

// When a call ends early, the client cancels it at the server by its id, for any
// reason. It cancels neither a call that was not sent nor initialize.
func TestHostileCancelIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := connected(t)
		parked := park(s, "tools/call")
		var want []jsonrpc.ID
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := c.CallTool(ctx, "echo", message)
			done <- err
		}()
		want = append(want, (<-parked).ID)
		cancel()
		err := <-done
		e := wantError{"", mcperrors.KindCanceled, one(mcperrors.Unknown), []string{"cancelled"}}.in(t, err)
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, want[0].String(), e.RequestID)

		_, err = c.CallTool(t.Context(), "echo", message, client.WithTimeouts(time.Second, -1))
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err))
		want = append(want, (<-parked).ID)

		_, err = c.CallTool(ctx, "echo", message) // has ended before
		wantError{"", mcperrors.KindCanceled, one(mcperrors.NotSent), nil}.check(t, err)
		synctest.Wait()
		require.Equal(t, want, cancelledIDs(t, s.received()))
		s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, want[0].AppendJSON(nil))) // late
		require.NoError(t, c.Ping(t.Context()))
	})
}

func TestHostileInitializeIsNotCancelled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		tr, s := newFake(t)
		s.on("initialize", func(jsonrpc.Request) any { return nil })
		enough := errors.New("enough")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, enough)
		defer cancel()
		began := time.Now()
		_, err := client.Connect(ctx, tr, sessionEra)
		require.ErrorIs(t, err, enough)
		require.Less(t, time.Since(began), 7*time.Second)
		synctest.Wait()
		require.Equal(t, []string{"initialize"}, s.methods())
	})
}
