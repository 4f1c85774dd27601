package cache

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// A list that was fetched while a caller was about to confirm one is recent enough for that
// caller, and for others in the next ten seconds.
func TestAListThatCameMeanwhileConfirms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := New(toolcache.Settings{})
		require.NoError(t, err)
		fetched := 0
		fetch := func(context.Context) (Listing, error) {
			fetched++
			return Listing{Tools: []mcp.Tool{{Name: "greet", InputSchema: []byte(`{"type":"object"}`)}}}, nil
		}
		key := Key{Server: "s"}
		_, err = c.Get(t.Context(), key, "greet", fetch)
		require.NoError(t, err)
		l := c.obtain(key)
		saw := l.snap.Load()
		time.Sleep(time.Hour)
		c.Renew(t.Context(), key, fetch) // for another caller
		synctest.Wait()
		require.Equal(t, 2, fetched)
		_, _, err = c.refresh(t.Context(), l, fetch, saw, "greet", confirming)
		require.NoError(t, err)
		require.Equal(t, 2, fetched)
		for _, want := range []int{2, 3} {
			time.Sleep(confirmInterval / 2)
			_, err = c.Confirm(t.Context(), key, "greet", fetch)
			require.NoError(t, err)
			require.Equal(t, want, fetched)
		}
	})
}

// stored is a store with a list of another process. It blocks reads until may allows them.
type stored struct {
	entry toolcache.Entry
	may   chan struct{}
}

func (s stored) Load(context.Context, string) (toolcache.Entry, error) {
	<-s.may
	return s.entry, nil
}

func (stored) Save(context.Context, string, toolcache.Entry) error { return nil }
func (stored) Forget(context.Context, string) error                { return nil }

// A list of another process confirms nothing, however fresh it is: neither for callers that
// waited for it, nor for later ones, nor for one that had seen no list.
func TestAStoredListConfirmsNothing(t *testing.T) {
	t.Parallel()
	for _, age := range []time.Duration{0, time.Second, 4 * time.Minute} {
		t.Run(age.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				list := func(schema string) Listing {
					return Listing{Tools: []mcp.Tool{{Name: "greet", InputSchema: []byte(schema)}}}
				}
				old, current := `{"type":"object","required":["a"]}`, `{"type":"object"}`
				text, hash, err := newSnapshot(list(old), 0, lease{}).encoded()
				require.NoError(t, err)
				ttl := time.Hour
				store := stored{toolcache.Entry{List: text, Hash: hash, At: time.Now().Add(-age), TTL: &ttl}, make(chan struct{})}
				c, err := New(toolcache.Settings{Durable: store})
				require.NoError(t, err)
				key, answered := Key{Server: "s"}, make(chan struct{})
				fetched := 0
				fetch := func(context.Context) (Listing, error) {
					fetched++
					<-answered
					return list(current), nil
				}
				schemas := make(chan string, 4)
				ask := func(f func(context.Context, Key, string, Fetch) (*mcp.Tool, error)) {
					go func() {
						tool, err := f(t.Context(), key, "greet", fetch)
						if err != nil {
							tool = &mcp.Tool{InputSchema: []byte(err.Error())}
						}
						schemas <- string(tool.InputSchema)
					}()
					synctest.Wait()
				}
				ask(c.Get)     // reads the store
				ask(c.Confirm) // waits for that
				close(store.may)
				require.Equal(t, old, <-schemas)
				ask(c.Confirm) // arrives during the request to the server
				require.Empty(t, schemas, "no caller got the old schema")
				require.Equal(t, 1, fetched)
				close(answered)
				require.Equal(t, current, <-schemas)
				require.Equal(t, current, <-schemas)
				require.Equal(t, 1, fetched)

				other, err := New(toolcache.Settings{Durable: store})
				require.NoError(t, err)
				l := other.obtain(key)
				tool, err := other.Get(t.Context(), key, "greet", fetch)
				require.NoError(t, err)
				require.Equal(t, old, string(tool.InputSchema))
				s, _, err := other.refresh(t.Context(), l, fetch, nil, "greet", confirming) // saw no list
				require.NoError(t, err)
				require.Equal(t, current, string(s.index["greet"].InputSchema))
				require.Equal(t, 2, fetched)
			})
		})
	}
}

// A fetch for another caller confirms a shared list as of the time of that fetch.
func TestASharedListConfirmsAsOfItsFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, err := New(toolcache.Settings{SharePublic: true})
		require.NoError(t, err)
		fetched := 0
		fetch := func(context.Context) (Listing, error) {
			fetched++
			return Listing{Tools: []mcp.Tool{{Name: "greet", InputSchema: []byte(`{"type":"object"}`)}}, Public: true}, nil
		}
		alice, bob := Key{Server: "s", Partition: "alice"}, Key{Server: "s", Partition: "bob"}
		_, err = c.Get(t.Context(), alice, "greet", fetch)
		require.NoError(t, err)
		time.Sleep(8 * time.Second)
		_, err = c.Get(t.Context(), bob, "greet", fetch)
		require.NoError(t, err)
		require.Equal(t, 1, fetched, "it is shared")
		_, _, err = c.refresh(t.Context(), c.obtain(bob), fetch, nil, "greet", confirming)
		require.NoError(t, err)
		require.Equal(t, 1, fetched, "8 s are current enough")
		time.Sleep(3 * time.Second)
		_, err = c.Confirm(t.Context(), bob, "greet", fetch)
		require.NoError(t, err)
		require.Equal(t, 2, fetched, "11 s are not")
	})
}
