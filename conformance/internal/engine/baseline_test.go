package engine

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSameRule(t *testing.T) {
	t.Parallel()
	server, client, wire := []string{"a:one", "b:two"}, []string{"auth/x"}, []string{"*:wire-schema-valid"}
	for _, c := range []struct {
		official []string
		name     string
		want     bool
	}{
		{server, "a", true},
		{server, "a:one", true},
		{server, "a:two", false},
		{server, "c", false},
		{client, "auth/x", true},
		{client, "auth/x:part", true},
		{wire, "a:wire-schema-valid", true},
		{wire, "a", false},
	} {
		require.Equal(t, c.want, sameRule(c.official, c.name), c.name)
	}
}
