package services_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/services"
	"github.com/mainstay-mcp/mainstay/conformance/families/store"
)

// lingering is a store that a caller leaves only some time after it was
// cancelled; it sees whether it was closed while in use.
type lingering struct {
	store.Store
	entered, closed chan struct{}
	abandoned       bool
}

func (l *lingering) NextID(ctx context.Context, _, _ string, _ time.Time) (store.Allocation, error) {
	close(l.entered)
	<-ctx.Done()
	linger, cancel := context.WithTimeout(context.WithoutCancel(ctx), 100*time.Millisecond)
	defer cancel()
	select {
	case <-l.closed:
		l.abandoned = true
	case <-linger.Done():
	}
	return store.Allocation{}, ctx.Err()
}

// TestClose_Cut cuts a request off because the time for it is over, and waits
// for it: the store may be closed next.
func TestClose_Cut(t *testing.T) {
	t.Parallel()
	st := &lingering{entered: make(chan struct{}), closed: make(chan struct{})}
	s, err := services.Start(t.Context(), services.Options{Store: st})
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		res, err := client.Get(s.IDsURL + "/ids/next?type=US&project=p")
		if err == nil {
			_ = res.Body.Close()
		}
	}()
	<-st.entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Close(ctx), context.Canceled)
	close(st.closed)
	<-done
	require.False(t, st.abandoned, "Close returned while a request used the store")
}

// TestClose_Deaf has a request that does not heed its end: Close returns, and
// says so.
func TestClose_Deaf(t *testing.T) {
	t.Parallel()
	st := &gated{entered: make(chan struct{}), leave: make(chan struct{})}
	s, err := services.Start(t.Context(), services.Options{Store: st})
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		res, err := client.Get(s.IDsURL + "/ids/next?type=US&project=p")
		if err == nil {
			_ = res.Body.Close()
		}
	}()
	<-st.entered
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, s.Close(ctx), "a request or the cleanup still runs")
	close(st.leave)
	<-done
	require.NoError(t, s.Close(t.Context()), "the request has ended")
}
