package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// gate is a stream that accepts bytes only when the test allows it, like a pipe
// whose peer reads now and then.
type gate struct {
	room chan int   // how many bytes the next write may take
	fail chan error // ends the present write
	got  bytes.Buffer
}

func newGate() *gate { return &gate{room: make(chan int), fail: make(chan error, 1)} }

func (g *gate) Write(b []byte) (int, error) {
	select {
	case n := <-g.room:
		n = min(n, len(b))
		g.got.Write(b[:n])
		return n, nil
	case err := <-g.fail:
		return 0, err
	}
}

// endWriter ends a writer that a test made, and waits for its goroutine.
func endWriter(w *writer, g *gate) {
	_ = w.fail(ErrClosed)
	w.close()
	select {
	case g.fail <- ErrClosed:
	default:
	}
	<-w.done
}

func small(i, size int) *frame {
	return &frame{id: IntID(int64(i)), method: strings.Repeat("m", size)}
}

func large(i, size int) *frame {
	return &frame{id: IntID(int64(i)), method: "large", params: []byte(`{"x":"` + strings.Repeat("y", size) + `"}`)}
}

func TestWriterTakesBackWhatHasNotBegunToLeave(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		w := newWriter(g, 1<<20, func(error) {})
		defer endWriter(w, g)
		var at []span
		for i, f := range []*frame{small(0, 100), small(1, 100), small(2, 100), large(3, 40_000), small(4, 100), small(5, 100)} {
			s, err := w.acceptNow(f)
			require.NoError(t, err, i)
			at = append(at, s)
			synctest.Wait()
		}
		require.False(t, w.takeBack(at[0]), "it is in the hands of a write")
		require.True(t, w.takeBack(at[2]))
		require.True(t, w.takeBack(at[3]))
		require.True(t, w.takeBack(at[5]))
		for range 4 { // ten bytes of the first, then the rest
			select {
			case g.room <- 10:
			default:
			}
			synctest.Wait()
		}
		require.False(t, left(w, at[0]))
		for w.busyNow() {
			g.room <- 1 << 20
			synctest.Wait()
		}
		want := string(small(0, 100).append(nil)) + string(small(1, 100).append(nil)) + string(small(4, 100).append(nil))
		require.Equal(t, want, g.got.String())
		require.False(t, w.takeBack(at[4]), "it has left")
		require.True(t, left(w, at[4]))
	})
}

func (w *writer) busyNow() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.busy
}

func TestWriterAfterAnError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		broken := make(chan error, 1)
		w := newWriter(g, 1<<20, func(err error) { broken <- err })
		defer endWriter(w, g)
		first, err := w.acceptNow(small(0, 50))
		require.NoError(t, err)
		synctest.Wait()
		second, err := w.acceptNow(small(1, 50))
		require.NoError(t, err)
		g.room <- 20
		synctest.Wait()
		fault := errors.New("gone")
		g.fail <- fault
		require.Equal(t, fault, <-broken)
		require.True(t, w.takeBack(first), "its newline never left")
		require.True(t, w.takeBack(second))
		_, err = w.acceptNow(small(2, 1))
		require.Equal(t, fault, err)
		_, err = w.accept(t.Context(), small(2, 1))
		require.Equal(t, fault, err)
	})
}

// A failure does not stop the write that runs: its frame may arrive.
func TestWriterFailsWhileAWriteIsUnderWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		w := newWriter(g, 1<<20, func(error) {})
		defer endWriter(w, g)
		first, err := w.acceptNow(small(0, 50))
		require.NoError(t, err)
		synctest.Wait()
		second, err := w.acceptNow(small(1, 50))
		require.NoError(t, err)
		_ = w.fail(ErrPeerClosed)
		require.False(t, w.takeBack(first), "it may leave yet")
		require.True(t, w.takeBack(second), "no write will begin")
		g.room <- 1 << 20
		synctest.Wait()
		require.True(t, left(w, first))
		require.Equal(t, string(small(0, 50).append(nil)), g.got.String())
	})
}

func TestWriterWaitsForRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const limit = 1000
		g := newGate()
		w := newWriter(g, limit, func(error) {})
		defer endWriter(w, g)
		_, err := w.acceptNow(small(0, limit+1))
		require.NoError(t, err, "one frame is always taken")
		_, err = w.acceptNow(small(1, 1))
		require.Equal(t, errFull, err)

		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() {
			_, err := w.accept(ctx, small(1, 1))
			done <- err
		}()
		synctest.Wait()
		cancel(cause)
		require.ErrorIs(t, <-done, cause)

		for range 3 {
			go func() {
				_, err := w.accept(t.Context(), small(1, 1))
				done <- err
			}()
		}
		synctest.Wait()
		g.room <- 400
		for range 3 {
			require.NoError(t, <-done)
		}
	})
}

func TestWriterDrains(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newGate()
		w := newWriter(g, 1<<20, func(error) {})
		defer endWriter(w, g)
		began := time.Now()
		w.drain(time.Second)
		require.Zero(t, time.Since(began), "nothing to wait for")
		_, err := w.acceptNow(small(0, 10))
		require.NoError(t, err)
		w.drain(time.Second)
		require.Equal(t, time.Second, time.Since(began), "the peer does not read")
		go func() { g.room <- 1000 }()
		w.drain(time.Second)
		require.Equal(t, time.Second, time.Since(began))
		require.False(t, w.busyNow())
	})
}

// walk compares a writer with a model. For any sequence of accepted frames, frames taken
// back and partial writes, the peer receives exactly the frames that were not taken back,
// complete and in order.
type walk struct {
	*testing.T
	rnd  *rand.Rand
	w    *writer
	g    *gate
	sent []walked
}

type walked struct {
	text []byte
	at   span
	back bool
}

func (k *walk) accept() {
	f := small(len(k.sent), k.rnd.IntN(300))
	if k.rnd.IntN(6) == 0 {
		f = large(len(k.sent), inlineLimit+k.rnd.IntN(5_000))
	}
	at, err := k.w.acceptNow(f)
	if err == errFull {
		return
	}
	require.NoError(k, err)
	k.sent = append(k.sent, walked{text: f.append(nil), at: at})
}

func (k *walk) takeBack() {
	if len(k.sent) == 0 {
		return
	}
	// Mostly one of the last, because the others were sent.
	s := &k.sent[max(0, len(k.sent)-1-k.rnd.IntN(12))]
	s.back = s.back || k.w.takeBack(s.at)
}

func (k *walk) room() {
	select {
	case k.g.room <- 1 + k.rnd.IntN(1<<k.rnd.IntN(17)):
	default: // no write is under way
	}
	synctest.Wait()
}

// whole returns what the peer must have received after everything was sent.
func (k *walk) whole() []byte {
	var want []byte
	for _, s := range k.sent {
		if !s.back {
			want = append(want, s.text...)
		}
	}
	return want
}

func TestWriterRandomWalk(t *testing.T) {
	t.Parallel()
	for seed := range uint64(testmain.Fewer(40, 5)) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { randomWalk(t, seed) })
		})
	}
}

func randomWalk(t *testing.T, seed uint64) {
	k := &walk{T: t, rnd: rand.New(rand.NewPCG(seed, 1)), g: newGate()}
	k.w = newWriter(k.g, 200_000, func(error) {})
	defer func() { endWriter(k.w, k.g) }()
	steps := []func(){k.accept, k.accept, k.takeBack, k.room, k.room, synctest.Wait}
	for range 600 {
		steps[k.rnd.IntN(len(steps))]()
	}
	if seed%2 == 0 {
		for synctest.Wait(); k.w.busyNow(); synctest.Wait() {
			k.g.room <- 1 << 20
		}
		require.Equal(t, string(k.whole()), k.g.got.String())
		for _, s := range k.sent {
			require.True(t, s.back || left(k.w, s.at))
		}
		return
	}
	// The stream fails instead. The peer received a prefix, without the frames that are
	// reported as never sent.
	synctest.Wait()
	if k.w.busyNow() {
		k.g.fail <- io.ErrClosedPipe
		synctest.Wait()
	}
	_ = k.w.fail(io.ErrClosedPipe)
	got := bytes.SplitAfter(k.g.got.Bytes(), []byte("\n"))
	for i := range k.sent {
		s := &k.sent[i]
		if s.back = s.back || k.w.takeBack(s.at); s.back {
			require.False(t, slices.ContainsFunc(got, func(b []byte) bool { return bytes.Equal(b, s.text) }))
		}
	}
	require.True(t, bytes.HasPrefix(k.g.got.Bytes(), k.whole()), "all that is not taken back has left, in order")
}

// left reports whether the stream has accepted a frame.
func left(w *writer, at span) bool { return !w.stuck(&call{at: at}) }
