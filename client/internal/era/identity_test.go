package era

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/link"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// versionConn is a connection that records its revision.
type versionConn struct {
	transport.Conn
	versions []string
}

func (c *versionConn) UseVersion(version string)  { c.versions = append(c.versions, version) }
func (*versionConn) Traits() (t transport.Traits) { return t }

func identity() Identity {
	return Identity{
		Info:         mcp.Implementation{Name: "x", Version: "1"},
		Capabilities: func(mcp.Version) mcp.ClientCapabilities { return mcp.ClientCapabilities{} },
	}
}

// Every request of the stateless era identifies the client, unless it is nameless.
func TestMeta(t *testing.T) {
	t.Parallel()
	const version, caps = `"` + mcp.MetaProtocolVersion + `":"` + string(mcp.Latest) + `"`, `,"` + mcp.MetaClientCapabilities + `":{}`
	named, nameless := identity(), identity()
	nameless.Nameless = true
	for name, tt := range map[string]struct {
		self  Identity
		level json.RawMessage
		want  string
	}{
		"named":       {named, nil, version + caps + `,"` + mcp.MetaClientInfo + `":{"name":"x","version":"1"}`},
		"nameless":    {nameless, nil, version + caps},
		"wants a log": {nameless, json.RawMessage(`"error"`), version + caps + `,"` + mcp.MetaLogLevel + `":"error"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tt.self.Meta(mcp.Latest, tt.level)
			require.NoError(t, err)
			require.Equal(t, tt.want, string(got))
		})
	}
}

// A corrected revision applies to all later messages, also to those without _meta: the transport
// must have it. A session keeps its revision.
func TestSpeak(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		before mcp.Version
		now    mcp.Version
		told   []string
	}{
		"another revision": {"", mcp.Latest, []string{string(mcp.Latest)}},
		"the same":         {mcp.Latest, mcp.Latest, nil},
		"a session":        {mcp.LatestSession, mcp.LatestSession, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var links link.Holder
			conn := &versionConn{}
			links.Use(conn)
			links.Agree(&link.Agreement{Version: tt.before, Era: tt.before.Era()})
			self := identity()
			require.NoError(t, self.Speak(&links, mcp.Latest, nil))
			require.Equal(t, tt.told, conn.versions)
			require.Equal(t, tt.now, links.Agreed().Version)
			require.Equal(t, tt.told != nil, links.Agreed().Meta != nil)
		})
	}
}
