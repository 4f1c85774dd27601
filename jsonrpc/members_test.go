package jsonrpc

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMembers(t *testing.T) {
	t.Parallel()
	collect := func(object string, limit int) (out []string, err error) {
		err = Members([]byte(object), func(name, value []byte) bool {
			out = append(out, string(name)+"="+string(value))
			return len(out) < limit
		})
		return out, err
	}
	got, err := collect(` {"b": 1.0, "a" : {"x":[1, 2]}, "\u0063\n":"d"} `, 10)
	require.NoError(t, err)
	require.Equal(t, []string{"b=1.0", `a={"x":[1, 2]}`, "c\n=\"d\""}, got)
	got, err = collect(`{"a":1,"b":2}`, 1)
	require.NoError(t, err)
	require.Equal(t, []string{"a=1"}, got)
	for _, bad := range []string{`[]`, `1`, ``, `{"a":1`, `{"a":1,"a":2}`, `{"a"}`, "{\"a\":\"\xff\"}"} {
		_, err := collect(bad, 10)
		require.Error(t, err, bad)
	}
}

func TestMembersAllocatesNothing(t *testing.T) {
	object := []byte(`{"message":"hi","count":3,"nested":{"a":[1,2,3]}}`)
	n := 0
	allocs := testing.AllocsPerRun(100, func() {
		_ = Members(object, func(_, _ []byte) bool { n++; return true })
	})
	if !testmain.Race {
		require.Zero(t, allocs)
	}
	require.NotZero(t, n)
}
