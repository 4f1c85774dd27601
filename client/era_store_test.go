package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// remembering is a program that dies of the probe, and a store.
func remembering(t *testing.T) (*clienttest.Server, transport.Transport, client.Option) {
	s := sessionServer(t)
	s.On("server/discover", says(clienttest.ErrCut))
	return s, identified{s.Transport(), t.Name()}, client.WithEraStore(client.MemoryEraStore())
}

// A remembered session saves the probe, and with it the program that dies of it,
// for a day.
func TestSessionEraLastsADay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, p, store := remembering(t)
		first := found(t, p, store)
		require.True(t, first.Restarted)
		require.Len(t, wireOf(s), 2)
		time.Sleep(23 * time.Hour)
		again := found(t, p, store)
		require.Len(t, wireOf(s), 3)
		require.Equal(t, []string{"initialize", "notifications/initialized"}, wireOf(s)[2])
		require.True(t, again.Remembered)
		require.Equal(t, "remembered", again.Evidence)
		require.Len(t, again.Tried, 1)
		time.Sleep(2 * time.Hour) // using an entry does not renew it
		require.False(t, found(t, p, store).Remembered)
		require.Len(t, wireOf(s), 5)
	})
}

// A remembered stateless era has no end, and costs no more than the probe that opens
// the conversation anyway.
func TestStatelessEraHasNoEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, p, store := remembering(t)
		s.On("server/discover", result(discoverAnswer))
		found(t, p, store)
		time.Sleep(1000 * time.Hour)
		again := found(t, p, store)
		require.True(t, again.Remembered)
		require.Equal(t, [][]string{{"server/discover"}, {"server/discover"}}, wireOf(s))
	})
}

// What a remembered stateless server may say without being demoted, and what
// overturns the entry.
func TestStatelessEraIsOverturned(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer any
		kind   string // of the error; "" for a session
		// forgotten: the next connection probes again.
		forgotten bool
	}{
		"-32601":                {rpcError(-32601, "x", ""), "", true},
		"-32022, sessions only": {rpcError(-32022, "x", `{"supported":["2025-11-25"]}`), "", true},
		"-32603":                {rpcError(-32603, "database is down", ""), "server", true},
		"-32020":                {rpcError(-32020, "x", ""), "protocol", true},
		"silence":               {clienttest.ErrSilent, "timeout", true},
		"another result":        {json.RawMessage(`{}`), "protocol", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				store := client.MemoryEraStore()
				s, p, _ := remembering(t)
				require.NoError(t, store.Save(t.Name(), client.Era{Version: mcp.Latest, At: time.Now()}))
				s.On("server/discover", says(tc.answer))
				c, err := find(t, p, client.WithEraStore(store))
				if tc.kind != "" {
					require.Equal(t, tc.kind, mcperrors.KindOf(err).String(), "%v", err)
					require.Len(t, wireOf(s), 1)
					require.NotContains(t, wireOf(s)[0], "initialize")
					_, known := store.Load(t.Name())
					require.Equal(t, !tc.forgotten, known)
					return
				}
				require.NoError(t, err)
				require.Equal(t, mcp.EraSession, c.ProtocolVersion().Era())
				require.False(t, c.Negotiated().Remembered)
				v, _ := store.Load(t.Name())
				require.Equal(t, mcp.LatestSession, v.Version)
				require.NoError(t, ignoreClosed(c.Close()))
			})
		})
	}
}

// If a server that was remembered for the session era now speaks only the other era,
// the client finds out, in each way that the server may refuse.
func TestSessionEraIsOverturned(t *testing.T) {
	t.Parallel()
	for name, refusal := range map[string]error{
		"error": rpcError(-32601, "no such method", ""), "not found": &clienttest.HTTPError{Status: 404, Body: "gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := clienttest.NewServer(t)
				store := client.MemoryEraStore()
				require.NoError(t, store.Save(s.HTTP().Identity(), client.Era{Version: mcp.LatestSession, At: time.Now()}))
				s.On("server/discover", result(discoverAnswer))
				s.On("initialize", says(refusal))
				chosen := found(t, s.HTTP(), client.WithEraStore(store))
				require.Equal(t, mcp.Latest, chosen.Version)
				require.Equal(t, [][]string{{"initialize", "server/discover"}}, wireOf(s))
				v, _ := store.Load(s.HTTP().Identity())
				require.Equal(t, mcp.Latest, v.Version)
			})
		})
	}
}

// An outage is not forgotten for: the server comes back as it was.
func TestOutagesKeepTheEra(t *testing.T) {
	t.Parallel()
	for _, v := range []mcp.Version{mcp.LatestSession, mcp.Latest} {
		for _, status := range []int{0, 401, 429, 503} {
			t.Run(fmt.Sprint(v, " ", status), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := clienttest.NewServer(t)
					store := client.MemoryEraStore()
					key := s.HTTP().Identity()
					require.NoError(t, store.Save(key, client.Era{Version: v, At: time.Now()}))
					down := says(&clienttest.HTTPError{Status: status, Body: "down"})
					if status == 0 {
						s.Close()
					}
					s.On("initialize", down)
					s.On("server/discover", down)
					_, err := find(t, s.HTTP(), client.WithEraStore(store))
					require.Error(t, err)
					_, known := store.Load(key)
					require.True(t, known)
				})
			})
		}
	}
}

// Two paths of one host may be of different eras.
func TestErasAreByURL(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := sessionServer(t)
		store := client.WithEraStore(client.MemoryEraStore())
		found(t, s.HTTP(), store)
		s.On("server/discover", result(discoverAnswer))
		other := s.HTTP()
		other.URL = memhttp.URL + "/other"
		require.Equal(t, mcp.Latest, found(t, other, store).Version)
		require.Equal(t, mcp.LatestSession, found(t, s.HTTP(), store).Version)
	})
}

// That a server is reached over the fallback is remembered too, and forgotten
// when the fallback is not there any more.
func TestFallbackIsRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, old := sessionServer(t), sessionServer(t)
		store := client.WithEraStore(client.MemoryEraStore())
		s.On("initialize", says(&clienttest.HTTPError{Status: 405, Body: "no"}))
		reach := func() client.Negotiated { return found(t, falling{s.HTTP(), sessionOnly{old.Stream()}}, store) }
		require.Len(t, reach().Tried, 4)
		sent := len(s.Requests())
		again := reach()
		require.Len(t, again.Tried, 1)
		require.True(t, again.Fallback)
		require.Len(t, s.Requests(), sent, "the first address is left in peace")

		s.On("initialize", result(initResult))
		chosen := found(t, falling{s.HTTP(), failing{}}, store)
		require.False(t, chosen.Fallback)
		require.False(t, chosen.Remembered)
	})
}

// A stream is another server each time, and a pinned client neither looks nor
// remembers.
func TestWhatIsNotRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		store := &countingStore{EraStore: client.MemoryEraStore()}
		found(t, sessionServer(t).Stream(), client.WithEraStore(store))
		_, p, _ := remembering(t)
		found(t, p, client.WithEraStore(store), client.WithProtocolVersion("2025-11-25"))
		require.Zero(t, store.used)
		store.fails = true
		found(t, p, client.WithEraStore(store)) // a store that fails harms nobody
		require.NotZero(t, store.used)
	})
}

type countingStore struct {
	client.EraStore
	used  int
	fails bool
}

func (s *countingStore) Load(key string) (client.Era, bool) {
	s.used++
	return s.EraStore.Load(key)
}

func (s *countingStore) Save(key string, v client.Era) error {
	s.used++
	if s.fails {
		return errors.New("disk full")
	}
	return s.EraStore.Save(key, v)
}

// A file keeps eras for the next process, for this user only.
func TestFileEraStore(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new", "eras.json")
	store := client.FileEraStore(path)
	_, ok := store.Load("a")
	require.False(t, ok)
	require.NoError(t, store.Forget("a"))
	want := client.Era{Version: mcp.Latest, Fallback: true, At: time.Date(2026, 9, 1, 0, 0, 0, 0, time.UTC)}
	require.NoError(t, store.Save("a", want))
	got, ok := client.FileEraStore(path).Load("a")
	require.True(t, ok)
	require.Equal(t, want, got)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	require.NoError(t, store.Forget("a"))
	_, ok = client.FileEraStore(path).Load("a")
	require.False(t, ok)
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Len(t, left, 1, "nothing but the file is left")
}

// Connecting works with any content of the file.
func TestFileEraStoreToleratesAnything(t *testing.T) {
	t.Parallel()
	for name, content := range map[string]string{
		"empty": "", "not JSON": "\x00\x01", "cut": `{"format":1,"verdicts":{"a":{"ver`, "an array": `[]`, "another form": `{"format":2,"verdicts":{}}`,
		"no verdicts": `{"format":1}`, "wrong types": `{"format":1,"verdicts":{"a":7}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "eras.json")
			require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
			store := client.FileEraStore(path)
			_, ok := store.Load("a")
			require.False(t, ok)
			require.NoError(t, store.Save("a", client.Era{Version: mcp.Latest, At: time.Now()}))
			_, ok = store.Load("a")
			require.True(t, ok)
		})
	}
	dir := filepath.Join(t.TempDir(), "eras.json")
	require.NoError(t, os.Mkdir(dir, 0o700))
	require.Error(t, client.FileEraStore(dir).Save("a", client.Era{}))
}

// Many at once never leave half a file, and the oldest entries go first.
func TestFileEraStoreAtOnceAndBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "eras.json")
	began := time.Now()
	var work sync.WaitGroup
	for i := range 8 {
		store := client.FileEraStore(path) // each like a process of its own
		work.Go(func() {
			for k := range 10 {
				if err := store.Save(fmt.Sprint(i, k), client.Era{Version: mcp.Latest, At: began}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	work.Wait()
	var full strings.Builder
	full.WriteString(`{"format":1,"verdicts":{"old":{"version":"2026-07-28","at":"2026-08-01T00:00:00Z"}`)
	for i := range 1023 {
		fmt.Fprintf(&full, `,"%d":{"version":"2026-07-28","at":"2026-09-01T00:00:00Z"}`, i)
	}
	require.NoError(t, os.WriteFile(path, []byte(full.String()+"}}"), 0o600))
	store := client.FileEraStore(path)
	_, ok := store.Load("old")
	require.True(t, ok)
	require.NoError(t, store.Save("new", client.Era{Version: mcp.Latest, At: began}))
	_, ok = store.Load("old")
	require.False(t, ok)
	_, ok = store.Load("new")
	require.True(t, ok)
}

// A restarted process is an event, with the reason why the first one ended.
func TestRestartedIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, p, store := remembering(t)
		var events []client.Event
		c, err := find(t, p, store, client.OnEvent(func(_ context.Context, e client.Event) { events = append(events, e) }))
		require.NoError(t, err)
		synctest.Wait() // Close does not wait for what is queued
		require.NoError(t, ignoreClosed(c.Close()))
		require.IsType(t, client.Restarted{}, events[0])
		require.Equal(t, mcperrors.KindTransport, mcperrors.KindOf(events[0].(client.Restarted).Cause))
		require.IsType(t, client.Negotiated{}, events[1])
	})
}
