package fleetredis

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestHintsArriveAsTheyWereSent(t *testing.T) {
	t.Parallel()
	server, cred := digest("https://example.com/mcp"), digest("token")
	for _, h := range []hint{
		{kind: kindOpen, node: "a", server: server, lasts: 30 * time.Second, seq: 7},
		{kind: kindClosed, node: "a", server: server, seq: 8},
		{kind: kindProbing, node: "a-1.example:99", server: server, lasts: probeLease},
		{kind: kindHold, node: "a", server: server, cred: cred, lasts: maxHint},
	} {
		got, err := parseHint(h.encode())
		require.NoError(t, err)
		require.Equal(t, h, got)
	}
}

// Neither a sent nor a received hint lasts longer than the limit, and no name of a server
// leaves the process.
func TestHintsAreBounded(t *testing.T) {
	t.Parallel()
	h := hint{kind: kindOpen, node: "a", server: digest("https://user:secret@example.com"), lasts: time.Hour, reason: strings.Repeat("é", 500)}
	raw := h.encode()
	require.Less(t, len(raw), maxHintBytes)
	require.NotContains(t, raw, "secret")
	require.NotContains(t, raw, "example.com")
	got, err := parseHint(raw)
	require.NoError(t, err)
	require.Equal(t, maxHint, got.lasts)

	got, err = parseHint(`{"v":1,"kind":"open","node":"a","server":"` + h.server + `","ms":9223372036854775807}`)
	require.NoError(t, err)
	require.Equal(t, maxHint, got.lasts)
}

// Only hints in the form of this version are accepted.
func TestGarbageIsNoHint(t *testing.T) {
	t.Parallel()
	server := digest("s")
	for _, raw := range []string{
		"", "null", "[]", "{}", "7", `"open"`, "\x00\xff", "{",
		`{"v":1,"kind":"open","node":"a","server":"` + server + `"}`,                                       // for no time
		`{"v":1,"kind":"open","node":"a","server":"` + server + `","ms":-1}`,                               //
		`{"v":1,"kind":"open","node":"a","server":"` + server + `","ms":1e300}`,                            //
		`{"v":2,"kind":"open","node":"a","server":"` + server + `","ms":1}`,                                // of another version
		`{"v":1,"kind":"ope","node":"a","server":"` + server + `","ms":1}`,                                 //
		`{"v":1,"kind":"open","node":"","server":"` + server + `","ms":1}`,                                 //
		`{"v":1,"kind":"open","node":"a\nb","server":"` + server + `","ms":1}`,                             // would forge a line of log
		`{"v":1,"kind":"open","node":"` + strings.Repeat("a", 129) + `","server":"` + server + `","ms":1}`, //
		`{"v":1,"kind":"open","node":"a","server":"example.com","ms":1}`,                                   //
		`{"v":1,"kind":"hold","node":"a","server":"` + server + `","ms":1}`,                                // for whom?
		`{"v":1,"kind":"open","node":"a","server":"` + server + `","ms":1,"x":"` + strings.Repeat("a", maxHintBytes) + `"}`,
	} {
		_, err := parseHint(raw)
		require.Error(t, err, raw)
	}
}

func FuzzParseHint(f *testing.F) {
	f.Add(hint{kind: kindOpen, node: "a", server: digest("s"), lasts: time.Second, seq: 1}.encode())
	f.Add(hint{kind: kindHold, node: "a", server: digest("s"), cred: digest("c"), lasts: time.Second}.encode())
	f.Add("{}")
	f.Fuzz(func(t *testing.T, raw string) {
		h, err := parseHint(raw)
		if err != nil {
			return
		}
		require.True(t, isName(h.node) && isDigest(h.server))
		require.True(t, h.lasts >= 0 && h.lasts <= maxHint)
		again, err := parseHint(h.encode())
		require.NoError(t, err)
		require.Equal(t, h.kind, again.kind)
		require.Equal(t, h.seq, again.seq)
	})
}
