package jsonrpc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestCall(t *testing.T) {
	t.Parallel()
	p := newPeer(t, Config{})
	done := p.callWith(t.Context(), Request{ID: StringID("a"), Method: "tools/call", Params: raw(`{"x":1}`)}, Wait{})
	require.Equal(t, Request{ID: StringID("a"), Method: "tools/call", Params: raw(`{"x":1}`)}, p.hear())
	require.Equal(t, 1, p.conn.InFlight())
	p.say(`{"jsonrpc":"2.0","id":"a","result":{"y":2}}`)
	got := <-done
	require.NoError(t, got.err)
	require.Equal(t, Response{ID: StringID("a"), Result: raw(`{"y":2}`)}, got.resp)
	require.Zero(t, p.conn.InFlight())

	done = p.call(t.Context(), IntID(2), Wait{})
	p.hear()
	p.say(`{"jsonrpc":"2.0","id":2,"error":{"code":-32601,"message":"no"}}`)
	got = <-done
	require.NoError(t, got.err, "an error answer is an answer")
	require.Equal(t, Response{ID: IntID(2), Error: &Error{Code: -32601, Message: "no"}}, got.resp)
}

// A frame is one line, also if the caller's JSON has line breaks.
func TestFramesAreOneLine(t *testing.T) {
	t.Parallel()
	p := newPeer(t, Config{})
	params := raw("{\n\t\"a\": \"x\\ny\",\r\n\"b\": [\n1]\n}")
	before := string(params)
	done := p.callWith(t.Context(), Request{ID: IntID(1), Method: "a\nb", Params: params}, Wait{})
	got := p.hear().(Request)
	require.JSONEq(t, string(params), string(got.Params))
	require.Equal(t, "a\nb", got.Method)
	p.say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	require.NoError(t, (<-done).err)
	require.Equal(t, before, string(params), "the caller's bytes are the caller's")

	go func() { _ = p.conn.Notify(t.Context(), Notification{Method: "n", Params: params}) }()
	require.JSONEq(t, string(params), string(p.hear().(Notification).Params))
	e := NewError(1, "x\ny", nil)
	e.Data = params
	go func() { _ = p.conn.Respond(Response{ID: IntID(9), Error: e}) }()
	require.JSONEq(t, string(params), string(p.hear().(Response).Error.Data))
	require.Equal(t, before, string(e.Data))
	go func() { _ = p.conn.Respond(Response{ID: IntID(9), Result: params}) }()
	require.JSONEq(t, string(params), string(p.hear().(Response).Result))
}

func TestTenThousandCallsAnsweredInReverseOrder(t *testing.T) {
	t.Parallel()
	n := testmain.Fewer(10_000, 5)
	p := newPeer(t, Config{})
	var wg sync.WaitGroup
	faults := make(chan error, n)
	for i := range n {
		wg.Go(func() {
			resp, err := p.conn.Call(t.Context(), Request{ID: StringID(fmt.Sprint(i)), Method: "m"}, Wait{})
			if want := fmt.Sprintf(`{"n":"%d"}`, i); err != nil || string(resp.Result) != want || resp.ID != StringID(fmt.Sprint(i)) {
				faults <- fmt.Errorf("%d: got %s, %w", i, resp.Result, err)
			}
		})
	}
	ids := make([]ID, n)
	for i := range ids {
		ids[i] = p.hear().(Request).ID
	}
	require.Equal(t, n, p.conn.InFlight())
	for i := range ids {
		id := ids[n-1-i]
		p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"n":%[1]s}}`, id.AppendJSON(nil)))
	}
	wg.Wait()
	require.Empty(t, faults)
	require.Zero(t, p.conn.InFlight())
	require.Equal(t, Stats{}, p.conn.Stats())
}

// An answer that no call waits for is dropped and counted.
func TestAnswersNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		says []string
		late uint64
	}{
		{"unknown id", []string{`{"jsonrpc":"2.0","id":"zz","result":{}}`}, 1},
		{"RPC-06: the number for the string", []string{`{"jsonrpc":"2.0","id":1,"result":{}}`}, 1},
		{"unknown error", []string{`{"jsonrpc":"2.0","id":"zz","error":{"code":1,"message":""}}`}, 1},
		{"several", []string{`{"jsonrpc":"2.0","id":2,"result":{}}`, `{"jsonrpc":"2.0","id":3,"result":{}}`}, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPeer(t, Config{})
				done := p.call(t.Context(), StringID("1"), Wait{})
				p.hear()
				for _, text := range tt.says {
					p.say(text)
				}
				synctest.Wait()
				require.Empty(t, done, "the call must not complete")
				require.Equal(t, tt.late, p.conn.Stats().Late)
				p.say(`{"jsonrpc":"2.0","id":"1","result":{}}`)
				require.NoError(t, (<-done).err)
				p.say(`{"jsonrpc":"2.0","id":"1","result":{}}`)
				synctest.Wait()
				require.Equal(t, tt.late+1, p.conn.Stats().Late, "answered twice")
			})
		})
	}
}

func TestLateAnswerAfterCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Config{})
		cause := errors.New("the user left")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := p.call(ctx, IntID(1), Wait{})
		p.hear()
		synctest.Wait()
		cancel(cause)
		(<-done).failed(t, cause, false)
		p.say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		synctest.Wait()
		require.Equal(t, uint64(1), p.conn.Stats().Late)
		require.Zero(t, p.conn.InFlight())
		done = p.call(t.Context(), IntID(1), Wait{})
		p.hear()
		p.say(`{"jsonrpc":"2.0","id":1,"result":{"again":true}}`)
		require.JSONEq(t, `{"again":true}`, string((<-done).resp.Result))
	})
}

func TestCallsThatAreNotSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Config{})
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		(<-p.call(ctx, IntID(1), Wait{})).failed(t, context.Canceled, true)
		(<-p.call(t.Context(), ID{}, Wait{})).failed(t, errNoID, true)
		first := p.call(t.Context(), IntID(1), Wait{})
		p.hear()
		(<-p.call(t.Context(), IntID(1), Wait{})).failed(t, ErrDuplicateID, true)
		p.say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		require.NoError(t, (<-first).err)
		require.NoError(t, p.conn.Close())
		(<-p.call(t.Context(), IntID(1), Wait{})).failed(t, ErrClosed, true)
		require.ErrorIs(t, p.conn.Notify(t.Context(), Notification{Method: "n"}), ErrClosed)
		require.ErrorIs(t, p.conn.Respond(Response{ID: IntID(1)}), ErrClosed)
	})
}

// A call that gave up late must not affect the call that has its id now.
func TestAnIDCanBeUsedAgain(t *testing.T) {
	t.Parallel()
	var table inflight
	table.init()
	first, err := table.add(IntID(1), Wait{})
	require.NoError(t, err)
	alone, found := table.answer([]byte("1"), Response{})
	require.True(t, alone)
	require.True(t, found)
	second, err := table.add(IntID(1), Wait{})
	require.NoError(t, err)
	require.False(t, table.drop(first), "it was answered")
	require.Equal(t, 1, table.len())
	require.True(t, table.drop(second))
}

// The peer has exited, but its answers can still be read.
func TestBrokenOutputLeavesAnswersReadable(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Config{})
		sent := p.call(t.Context(), IntID(1), Wait{})
		p.hear()
		unsent := p.call(t.Context(), IntID(2), Wait{})
		synctest.Wait()
		require.NoError(t, p.read.Close())
		got := <-unsent
		var ce *CallError
		require.ErrorAs(t, got.err, &ce)
		require.True(t, ce.NotSent)
		require.Empty(t, sent)
		p.say(`{"jsonrpc":"2.0","id":1,"result":{"alive":1}}`)
		got = <-sent
		require.NoError(t, got.err)
		require.JSONEq(t, `{"alive":1}`, string(got.resp.Result))
		require.ErrorAs(t, (<-p.call(t.Context(), IntID(3), Wait{})).err, &ce)
		require.True(t, ce.NotSent)
	})
}

// A call whose frame is not queued yet gets the error of the queue.
func TestStreamBreaksBeforeACallIsPlaced(t *testing.T) {
	t.Parallel()
	p := newPeer(t, Config{})
	cl, err := p.conn.inflight.add(IntID(1), Wait{})
	require.NoError(t, err)
	p.conn.w.breaks(errCut)
	require.Empty(t, cl.answered)
	_, err = p.conn.send(t.Context(), frame{id: IntID(1), method: "m", call: cl})
	require.ErrorIs(t, err, errCut)
}

func TestParamsAreCopiedWhenSmall(t *testing.T) {
	t.Parallel()
	for _, size := range []int{100, inlineLimit} {
		synctest.Test(t, func(t *testing.T) {
			p := newPeer(t, Config{})
			// The writer writes this frame while the params change.
			go func() { _ = p.conn.Notify(t.Context(), Notification{Method: "first"}) }()
			synctest.Wait()
			params := json.RawMessage(`{"a":"` + strings.Repeat("x", size-len(`{"a":""}`)) + `"}`)
			want := string(params)
			require.NoError(t, p.conn.Notify(t.Context(), Notification{Method: "second", Params: params}))
			copy(params, `{"b":"changed`)
			p.hear()
			require.Equal(t, want, string(p.hear().(Notification).Params))
		})
	}
}
