package jsonrpc

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWait(t *testing.T) {
	t.Parallel()
	const s = time.Second
	tests := []struct {
		name    string
		wait    Wait
		touches []time.Duration // when something comes for the call
		want    error
		after   time.Duration
	}{
		{"idle", Wait{Idle: s}, nil, ErrIdle, s},
		{"max", Wait{Max: s}, nil, ErrMaxWait, s},
		{"idle before max", Wait{Idle: s, Max: 5 * s}, nil, ErrIdle, s},
		{"max before idle", Wait{Idle: 5 * s, Max: s}, nil, ErrMaxWait, s},
		{"both at once", Wait{Idle: s, Max: s}, nil, ErrMaxWait, s},
		{"touched just before", Wait{Idle: s}, []time.Duration{s - 1}, ErrIdle, 2*s - 1},
		{"touched just after", Wait{Idle: s}, []time.Duration{s + 1}, ErrIdle, s},
		{"touched several times", Wait{Idle: s}, []time.Duration{s / 2, s, 3 * s / 2}, ErrIdle, 5 * s / 2},
		{"max ends a call that is touched", Wait{Idle: s, Max: 3*s + 7}, []time.Duration{s - 1, 2 * s * 9 / 10, 5 * s / 2, 3 * s}, ErrMaxWait, 3*s + 7},
		{"idle after the last touch, before max", Wait{Idle: s, Max: 3 * s}, []time.Duration{s / 2}, ErrIdle, 3 * s / 2},
		{"touched at once", Wait{Idle: s}, []time.Duration{0}, ErrIdle, s},
		{"negative bounds are none", Wait{Idle: -s, Max: s}, nil, ErrMaxWait, s},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPeer(t, Config{})
				// Used timers must behave like new ones.
				for i := range 3 {
					id := IntID(int64(i))
					began := time.Now()
					done := p.call(t.Context(), id, tt.wait)
					p.hear()
					ctx, stop := context.WithCancel(t.Context())
					for _, at := range tt.touches {
						go func() {
							select {
							case <-time.After(at):
								p.conn.Touch(id)
								p.conn.Touch(IntID(77))
							case <-ctx.Done():
							}
						}()
					}
					(<-done).failed(t, tt.want, false)
					require.Equal(t, tt.after, time.Since(began))
					stop()
					synctest.Wait()
				}
			})
		})
	}
}

// Calls reuse a timer one after the other. A timer that is still set for an earlier call
// ends no later call too early or too late.
func TestWaitsOfCallsThatShareATimer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Config{})
		for i, tt := range []struct {
			pause, wait time.Duration // before the call, and its idle timeout
			answer      time.Duration // 0: none
		}{
			{0, time.Minute, 1},
			{40 * time.Second, time.Minute, 0},
			{0, time.Minute, time.Second},
			{2 * time.Minute, time.Minute, 59 * time.Second},
			{0, time.Second, 0},
			{0, time.Hour, time.Minute},
			{time.Second, time.Second, 0},
			{0, 0, 3 * time.Hour},
			{0, time.Minute, time.Second},
			{2 * time.Minute, 0, time.Hour}, // the timer has fired for the call before
			{0, time.Minute, 0},
			{time.Hour, time.Hour, 0},
		} {
			time.Sleep(tt.pause)
			began := time.Now()
			done := p.call(t.Context(), IntID(int64(i)), Wait{Idle: tt.wait})
			p.hear()
			if tt.answer == 0 {
				(<-done).failed(t, ErrIdle, false)
				require.Equal(t, tt.wait, time.Since(began), "call %d", i)
				continue
			}
			time.Sleep(tt.answer)
			p.say(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":{}}`, i))
			require.NoError(t, (<-done).err, "call %d", i)
		}
	})
}

// An answer counts until the deadline.
func TestAnswersAroundTheDeadline(t *testing.T) {
	t.Parallel()
	for _, wait := range []Wait{{Idle: time.Second}, {Max: time.Second}} {
		for _, at := range []time.Duration{time.Second - 1, time.Second + 1} {
			t.Run(fmt.Sprint(wait, at), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					p := newPeer(t, Config{})
					done := p.call(t.Context(), IntID(1), wait)
					p.hear()
					time.Sleep(at)
					synctest.Wait()
					p.say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
					got := <-done
					synctest.Wait()
					if at < time.Second {
						require.NoError(t, got.err)
						return
					}
					require.Error(t, got.err)
					require.Equal(t, uint64(1), p.conn.Stats().Late)
				})
			})
		}
	}
}

func TestNegativeWaitIsNone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Config{})
		done := p.call(t.Context(), IntID(1), Wait{Idle: -1, Max: -1})
		p.hear()
		time.Sleep(24 * time.Hour)
		require.Empty(t, done)
		p.say(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		require.NoError(t, (<-done).err)
	})
}

// A deadline holds in every state, also before the frame was accepted.
func TestBoundsHoldWhileWaitingForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPeer(t, Config{MessageBytes: 1000})
		require.NoError(t, p.conn.Notify(t.Context(), Notification{Method: "n", Params: raw(`{"x":"` + strings.Repeat("x", 2000) + `"}`)}))
		began := time.Now()
		(<-p.call(t.Context(), IntID(1), Wait{Idle: time.Second})).failed(t, ErrIdle, true)
		require.Equal(t, time.Second, time.Since(began))
		(<-p.call(t.Context(), IntID(1), Wait{Max: time.Second})).failed(t, ErrMaxWait, true)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		(<-p.call(ctx, IntID(1), Wait{})).failed(t, context.DeadlineExceeded, true)
		require.ErrorIs(t, p.conn.Notify(ctx, Notification{Method: "n"}), context.DeadlineExceeded)
		require.ErrorIs(t, p.conn.Respond(Response{ID: IntID(1)}), errFull)
		require.Equal(t, 3*time.Second, time.Since(began))
		require.Zero(t, p.conn.InFlight())

		done := p.call(t.Context(), IntID(2), Wait{})
		synctest.Wait()
		p.conn.Fail(ErrPeerClosed)
		(<-done).failed(t, ErrPeerClosed, true)
	})
}

func TestNotifyWaitsForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 10_000
		p := newPeer(t, Config{MessageBytes: limit})
		sent := make(chan int)
		go func() {
			defer close(sent)
			for i := range 500 {
				if p.conn.Notify(t.Context(), Notification{Method: "n", Params: raw(fmt.Sprintf(`{"i":%d}`, i))}) != nil {
					return
				}
				sent <- i
			}
		}()
		n := 0
		for range 400 { // the peer does not read, so this ends
			synctest.Wait()
			select {
			case <-sent:
				n++
			default:
			}
		}
		require.Greater(t, n, 100)
		require.Less(t, n, 400, "more than the limit waits")
		go func() {
			for range sent {
			}
		}()
		for i := range 500 {
			require.Equal(t, fmt.Sprintf(`{"i":%d}`, i), string(p.hear().(Notification).Params), "in order")
		}
	})
}
