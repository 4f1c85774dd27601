package jsonrpc

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// heard collects the reports of a connection. Only the read loop writes it, and tests
// read it while the loop is blocked.
type heard struct {
	noise, notes, requests []string
	faults                 []*DecodeError
}

func (h *heard) config() Config {
	return Config{
		OnNoise:        func(line []byte) { h.noise = append(h.noise, string(line)) },
		OnFault:        func(de *DecodeError) { h.faults = append(h.faults, de) },
		OnNotification: func(n Notification) { h.notes = append(h.notes, n.Method) },
		OnRequest:      func(r Request) { h.requests = append(h.requests, r.Method) },
	}
}

// A bad message fails at most the call that it answers, at once. All other calls
// continue.
func TestBadMessages(t *testing.T) {
	t.Parallel()
	const limit = 200 << 10
	pad := strings.Repeat("x", limit)
	tests := []struct {
		name string
		line string
		ends bool // the call with the id 1
		want Stats
	}{
		{"both result and error", `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}`, true, Stats{Faults: 1}},
		{"neither", `{"jsonrpc":"2.0","id":1}`, true, Stats{Faults: 1}},
		{"no version", `{"id":1,"result":{}}`, true, Stats{Faults: 1}},
		{"names in capitals", `{"jsonrpc":"2.0","id":1,"RESULT":{}}`, true, Stats{Faults: 1}},
		{"duplicates", `{"jsonrpc":"2.0","id":1,"result":{"a":1,"a":2}}`, true, Stats{Faults: 1}},
		{"not JSON", `{"jsonrpc":"2.0","id":1,"result":{"a":tru}}`, true, Stats{Faults: 1}},
		{"too deep, id first", nested(600, `"id":1,`, ""), true, Stats{Faults: 1}},
		{"too deep, id last", nested(20_000, "", `,"id":1`), true, Stats{Faults: 1}},
		{"over the limit, id first", `{"jsonrpc":"2.0","id":1,"result":"` + pad + `"}`, true, Stats{Faults: 1}},
		{"over the limit, id last", `{"jsonrpc":"2.0","result":"` + pad + `","id":1}`, true, Stats{Faults: 1}},
		{"far over the limit, id last", `{"result":"` + strings.Repeat(pad, 20) + `", "id": 1, "jsonrpc": "2.0"}`, true, Stats{Faults: 1}},
		{"over the limit, no id at the ends", `{"jsonrpc":"2.0","result":"` + pad + `","id":1,"more":"` + pad + `"}`, false, Stats{Faults: 1}},
		{"somebody else's", `{"jsonrpc":"2.0","id":7,"result":{},"result":{}}`, false, Stats{Faults: 1}},
		{"RPC-17: a batch", `[{"jsonrpc":"2.0","id":1,"result":{}}]`, false, Stats{Faults: 1}},
		{"a request with the same id", `{"jsonrpc":"2.0","id":1,"method":"m","params":[]}`, false, Stats{Faults: 1}},
		{"a huge request with the same id", `{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":"` + pad + `"}}`, false, Stats{Faults: 1}},
		{"a line over the limit that is text", "  y" + pad, false, Stats{Noise: 1}},
		{"a banner", `Server listening on stdio`, false, Stats{Noise: 1}},
		{"a log line that looks like an array", `[INFO] ready`, false, Stats{Noise: 1}},
		{"a bare value", `"x"`, false, Stats{Noise: 1}},
		{"a log line in JSON", `{"level":30,"time":1,"msg":"listening"}`, false, Stats{Noise: 1}},
		{"a log line in JSON that speaks of an error", `{"level":"error","error":"no database","method":"GET"}`, false, Stats{Noise: 1}},
		{"a log line in JSON with an id of its own", `{"id":7,"method":"GET","msg":"request"}`, false, Stats{Noise: 1}},
		{"words in braces", `{starting up}`, false, Stats{Noise: 1}},
		{"a brace without an end", `{starting up`, false, Stats{Noise: 1}},
		{"a log line that is nearly JSON", `{"level":info,"msg":"listening"}`, false, Stats{Noise: 1}},
		{"nearly JSON with an id of its own", `{"id":7,"method":"GET","msg":oops}`, false, Stats{Noise: 1}},
		{"not JSON, with a version", `{"jsonrpc":"2.0","method":oops}`, false, Stats{Faults: 1}},
		{"not JSON, for somebody else", `{"id":7,"result":oops}`, false, Stats{Faults: 1}},
		{"not JSON, for a call, without a version", `{"id":1,"result":oops}`, true, Stats{Faults: 1}},
		{"an answer to nobody without a version", `{"id":7,"result":{}}`, false, Stats{Faults: 1}},
		{"blank", " \t\r", false, Stats{}},
		{"RPC-10: an error without id while two wait", `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"?"}}`, false, Stats{Faults: 1}},
		{"a result without id", `{"jsonrpc":"2.0","id":null,"result":{}}`, false, Stats{Faults: 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				h := &heard{}
				cfg := h.config()
				cfg.MessageBytes = limit
				p := newPeer(t, cfg)
				first := p.call(t.Context(), IntID(1), Wait{})
				p.hear()
				second := p.call(t.Context(), IntID(2), Wait{})
				p.hear()
				p.say(tt.line)
				synctest.Wait()
				require.Equal(t, tt.want, p.conn.Stats())
				require.Empty(t, h.requests)
				if tt.ends {
					got := <-first
					var de *DecodeError
					require.ErrorAs(t, got.err, &de)
					want, other := ErrInvalid, ErrTooLarge
					if de.TooLarge { // by a valid message
						want, other = other, want
					}
					require.Equal(t, strings.Contains(tt.name, "limit") || strings.Contains(tt.name, "deep"), de.TooLarge)
					got.failed(t, want, false)
					require.NotErrorIs(t, got.err, other)
					require.Equal(t, IntID(1), de.ID)
					require.Empty(t, h.faults, "told to the call")
				} else {
					require.Empty(t, first)
					require.Len(t, h.faults, int(tt.want.Faults))
					require.Len(t, h.noise, int(tt.want.Noise))
				}
				p.say(`{"jsonrpc":"2.0","id":2,"result":{}}`)
				require.NoError(t, (<-second).err, "the others go on")
			})
		})
	}
}

// Some runtimes begin their output with a byte order mark.
func TestByteOrderMark(t *testing.T) {
	t.Parallel()
	for _, line := range []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, ` {"jsonrpc":"2.0","id":1,"result":{}} `} {
		p := newPeer(t, Config{})
		done := p.call(t.Context(), IntID(1), Wait{})
		p.hear()
		p.say("\ufeff" + line)
		require.NoError(t, (<-done).err)
		require.Equal(t, Stats{}, p.conn.Stats())
	}
}

// An error without id belongs to no call, except to a single call with NullID: the
// probe of a server that could not read it.
func TestErrorWithoutID(t *testing.T) {
	t.Parallel()
	for _, id := range []string{`"id":null,`, ``} {
		p := newPeer(t, Config{})
		done := p.call(t.Context(), StringID("call"), Wait{})
		p.hear()
		p.say(`{"jsonrpc":"2.0",` + id + `"error":{"code":-32700,"message":"Parse error"}}`)
		p.say(`{"jsonrpc":"2.0","id":"call","result":{}}`)
		got := <-done
		require.NoError(t, got.err)
		require.Nil(t, got.resp.Error)
		require.Equal(t, Stats{Faults: 1}, p.conn.Stats())

		done = p.call(t.Context(), StringID("probe"), Wait{NullID: true})
		p.hear()
		p.say(`{"jsonrpc":"2.0",` + id + `"error":{"code":-32700,"message":"Parse error"}}`)
		got = <-done
		require.NoError(t, got.err)
		require.Equal(t, Response{ID: StringID("probe"), Error: &Error{Code: -32700, Message: "Parse error"}}, got.resp)
	}
}

func TestPeerEndsTheStream(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, last string }{
		{"between messages", ""},
		{"in the middle of the answer", `{"jsonrpc":"2.0","id":1,"resul`},
		{"in the middle of a long answer", `{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 3*lineBuffer)},
		{"after a banner without newline", "bye"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPeer(t, Config{})
				var sent []<-chan outcome
				for i := range 10 {
					sent = append(sent, p.call(t.Context(), IntID(int64(i)), Wait{}))
					p.hear()
				}
				stuck := p.call(t.Context(), IntID(99), Wait{})
				synctest.Wait()
				queued := p.call(t.Context(), IntID(100), Wait{})
				synctest.Wait()
				_, err := p.out.Write([]byte(tt.last))
				require.NoError(t, err)
				require.NoError(t, p.out.Close())
				for _, done := range sent {
					(<-done).failed(t, ErrPeerClosed, false)
				}
				(<-queued).failed(t, ErrPeerClosed, true)
				(<-stuck).failed(t, ErrPeerClosed, false) // its write runs and may still succeed
				<-p.conn.Done()
				(<-p.call(t.Context(), IntID(5), Wait{})).failed(t, ErrPeerClosed, true)
				require.ErrorIs(t, p.conn.Notify(t.Context(), Notification{Method: "n"}), ErrPeerClosed)
			})
		})
	}
}

func TestTheLastAnswerNeedsNoNewline(t *testing.T) {
	t.Parallel()
	p := newPeer(t, Config{})
	done := p.call(t.Context(), IntID(1), Wait{})
	p.hear()
	_, err := p.out.Write([]byte(`{"jsonrpc":"2.0","id":1,"result":{"last":1}}`))
	require.NoError(t, err)
	require.NoError(t, p.out.Close())
	got := <-done
	require.NoError(t, got.err)
	require.JSONEq(t, `{"last":1}`, string(got.resp.Result))
}

func TestFailGivesTheFirstReason(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Config{})
		done := p.call(t.Context(), IntID(1), Wait{})
		p.hear()
		died := errors.New("exit status 3")
		p.conn.Fail(died)
		p.conn.Fail(ErrPeerClosed)
		(<-done).failed(t, died, false)
		(<-p.call(t.Context(), IntID(2), Wait{})).failed(t, died, true)
	})
}

// Without a handler requests are refused, and notifications are not answered.
func TestServerRequestsByDefault(t *testing.T) {
	t.Parallel()
	p := newPeer(t, Config{})
	p.say(`{"jsonrpc":"2.0","method":"notifications/unknown"}`)
	p.say(`{"jsonrpc":"2.0","id":"s1","method":"roots/list"}`)
	require.Equal(t, Response{ID: StringID("s1"), Error: &Error{Code: CodeMethodNotFound, Message: "Method not found"}}, p.hear())
}

// Handlers own their arguments, also while later messages arrive.
func TestHandlersOwnWhatTheyGet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := testmain.Fewer(300, 5)
		sizes := []int{1, 100, 5_000, lineBuffer + 1}
		var requests []Request
		var notes []Notification
		p := newPeer(t, Config{
			OnRequest:      func(r Request) { requests = append(requests, r) },
			OnNotification: func(n Notification) { notes = append(notes, n) },
		})
		params := func(i int) string {
			return fmt.Sprintf(`{"i":%d,"x":"%s"}`, i, strings.Repeat("x", sizes[i%len(sizes)]))
		}
		for i := range n {
			p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":"r%d","method":"m%[1]d","params":%s}`, i, params(i)))
			p.say(fmt.Sprintf(`{"jsonrpc":"2.0","method":"n%d","params":%s}`, i, params(i)))
		}
		synctest.Wait()
		require.Len(t, requests, n)
		require.Len(t, notes, n)
		for i := range n {
			require.Equal(t, Request{ID: StringID(fmt.Sprintf("r%d", i)), Method: fmt.Sprintf("m%d", i), Params: raw(params(i))}, requests[i])
			clear(requests[i].Params) // theirs to change
			require.Equal(t, Notification{Method: fmt.Sprintf("n%d", i), Params: raw(params(i))}, notes[i], "in the order sent")
		}
	})
}

// Callers own their results.
func TestResultsAreTheCallers(t *testing.T) {
	t.Parallel()
	p := newPeer(t, Config{})
	var results []Response
	for i := range 50 {
		done := p.call(t.Context(), IntID(int64(i)), Wait{})
		p.hear()
		if i%2 == 0 {
			p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{"i":%[1]d}}`, i))
		} else {
			p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"error":{"code":%[1]d,"message":"m%[1]d","data":{"i":%[1]d}}}`, i))
		}
		results = append(results, (<-done).resp)
	}
	for i, r := range results {
		want := fmt.Sprintf(`{"i":%d}`, i)
		if i%2 == 0 {
			require.Equal(t, want, string(r.Result))
		} else {
			require.Equal(t, &Error{Code: int64(i), Message: fmt.Sprintf("m%d", i), Data: raw(want)}, r.Error)
		}
	}
}

func TestTraceSeesEveryFrame(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var sent, received []string
		p := newPeer(t, Config{
			OnSent:     func(b []byte) { sent = append(sent, string(b)) },
			OnReceived: func(b []byte) { received = append(received, string(b)) },
		})
		done := p.call(t.Context(), IntID(1), Wait{})
		p.hear()
		p.say(`{"jsonrpc":"2.0","id":1,"result":{}}` + "\r")
		<-done
		p.say(`noise`)
		synctest.Wait()
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"method":"m"}`}, sent)
		require.Equal(t, []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `noise`}, received)
	})
}

// The call that an endless line answers fails as soon as the line is over the limit,
// not at its end, which never comes.
func TestEndlessLineFailsItsCallAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := &heard{}
		cfg := h.config()
		cfg.MessageBytes = 200 << 10
		p := newPeer(t, cfg)
		first := p.call(t.Context(), IntID(1), Wait{})
		p.hear()
		second := p.call(t.Context(), IntID(2), Wait{})
		p.hear()
		p.sayPart(`{"jsonrpc":"2.0","id":1,"result":"` + strings.Repeat("x", 300<<10))
		synctest.Wait()
		got := <-first
		got.failed(t, ErrTooLarge, false)
		require.Empty(t, second)
		p.say(strings.Repeat("y", 300<<10) + `"}`)
		p.say(`{"jsonrpc":"2.0","id":2,"result":{}}`)
		require.NoError(t, (<-second).err, "the others go on once it has ended")
		require.Equal(t, Stats{Faults: 1}, p.conn.Stats(), "told once")
		require.Empty(t, h.faults)
	})
}
