package client_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// userKey is under which a context carries its user.
type userKey struct{}

var errNoToken = errors.New("the vault is sealed")

// userHeaders returns the credentials of the user of a context.
func userHeaders(ctx context.Context) (http.Header, error) {
	switch user, _ := ctx.Value(userKey{}).(string); user {
	case "":
		return nil, nil
	case "locked out":
		return nil, errNoToken
	case "panic":
		panic("no such user")
	case "clever":
		return http.Header{"Mcp-Session-Id": {"mine"}}, nil
	default:
		return http.Header{"authorization": {user}}, nil
	}
}

func asUser(t *testing.T, user string) context.Context {
	t.Helper()
	return context.WithValue(t.Context(), userKey{}, user)
}

// HTTP.HeaderFunc, over a real socket: each call goes out with the headers of its
// context, what the server lets one user keep is not another's, and the pool stays
// that of all clients.
func TestHeaderFunc(t *testing.T) {
	t.Parallel()
	url, lists := privateLists(t)
	c, err := client.Connect(asUser(t, "ann"), &transport.HTTP{URL: url, HeaderFunc: userHeaders}, client.WithProtocolVersion("2026-07-28"))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	for range 3 {
		for _, user := range []string{"ann", "bob"} {
			_, err = c.GetToolSchema(asUser(t, user), "of-"+user)
			require.NoError(t, err)
			names, err := toolNames(asUser(t, user), c)
			require.NoError(t, err)
			require.Equal(t, []string{"of-" + user}, names)
		}
	}
	require.EqualValues(t, 2, lists.Load(), "a list for each, the first of them Dial's")
	_, err = c.GetToolSchema(asUser(t, "bob"), "of-ann")
	require.Equal(t, mcperrors.CodeToolNotFound, mcperrors.CodeOf(err))
	require.EqualValues(t, 3, lists.Load())

	c.InvalidateTools()
	for _, user := range []string{"ann", "bob"} {
		_, err := toolNames(asUser(t, user), c)
		require.NoError(t, err)
	}
	require.EqualValues(t, 5, lists.Load(), "for everybody")

	for user, want := range map[string]string{"locked out": errNoToken.Error(), "clever": "belongs to the protocol", "panic": "HTTP.HeaderFunc panicked"} {
		_, err = c.CallTool(asUser(t, user), "of-ann", nil)
		require.ErrorContains(t, err, want)
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
	}
}

// One partition for all is the application's word that they see the same.
func TestHeaderFuncInOnePartition(t *testing.T) {
	t.Parallel()
	url, lists := privateLists(t)
	c, err := client.Connect(asUser(t, "ann"), &transport.HTTP{URL: url, HeaderFunc: userHeaders}, client.WithProtocolVersion("2026-07-28"), client.WithCache(client.CacheConfig{Partition: "team"}))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.Close()) })
	names, err := toolNames(asUser(t, "ann, renewed"), c)
	require.NoError(t, err)
	require.Equal(t, []string{"of-ann"}, names)
	require.EqualValues(t, 1, lists.Load())
}

// In the session era every request carries them too: the calls, and what the
// client sends for itself without a user.
func TestHeaderFuncInASession(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	got := map[string][]string{}
	p := &listPeer{t: t, version: "2025-11-25", http: true, tools: peerTool, result: peerReturn, asked: map[string]int{}}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		got[r.Header.Get("Authorization")] = append(got[r.Header.Get("Authorization")], r.Method)
		mu.Unlock()
		w.Header().Set("Mcp-Session-Id", "s1")
		p.ServeHTTP(w, r)
	}))
	t.Cleanup(srv.Close)
	c, err := client.Connect(asUser(t, "ann"), &transport.HTTP{
		URL: srv.URL, Header: http.Header{"Authorization": {"nobody"}}, HeaderFunc: userHeaders,
	}, sessionEra)
	require.NoError(t, err)
	_, err = c.CallTool(asUser(t, "bob"), "echo", hello)
	require.NoError(t, err)
	require.NoError(t, c.Close())
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, []string{"POST", "POST", "POST"}, got["ann"], "initialize, initialized, tools/list")
	require.Equal(t, []string{"POST", "POST"}, got["bob"], "a list of his own, and the call")
	require.Equal(t, []string{"DELETE"}, got["nobody"], fmt.Sprint(got))
}

// The stream of a subscription has the headers of its context.
func TestHeadersOfSubscription(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := clienttest.NewServer(t)
		to := s.HTTP()
		to.HeaderFunc = userHeaders
		c, err := client.Connect(t.Context(), to, client.WithProtocolVersion(string(mcp.Latest)))
		require.NoError(t, err)
		defer func() { require.NoError(t, c.Close()) }()
		for _, user := range []string{"ann", "bob"} {
			_, err := c.Subscribe(asUser(t, user), mcp.SubscriptionFilter{ResourceSubscriptions: []string{"x:/" + user}}, func(context.Context, client.Change) {})
			require.NoError(t, err)
		}
		for _, r := range s.Requests() {
			if r.Method != mcp.MethodSubscriptionsListen {
				continue
			}
			want := "ann"
			if strings.Contains(string(r.Params), "x:/bob") {
				want = "bob"
			}
			require.Contains(t, r.Header.Get("Authorization"), want)
		}
		require.Equal(t, 2, s.Count(mcp.MethodSubscriptionsListen))
	})
}
