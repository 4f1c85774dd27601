package cache_test

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client/internal/cache"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

func TestSettingsValidate(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		set  toolcache.Settings
		want string
	}{
		{toolcache.Settings{Size: -1}, "size -1"},
		{toolcache.Settings{FetchTimeout: -1}, "fetch timeout -1ns"},
		{toolcache.Settings{Revalidate: -1}, "revalidate -1ns"},
		{toolcache.Settings{Revalidate: 30*time.Second + 1}, "revalidate 30.000000001s"},
	} {
		_, err := cache.New(tt.set)
		require.ErrorContains(t, err, tt.want)
	}
}

func TestTTLFromEnv(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		value string
		want  time.Duration
		set   bool
		bad   bool
	}{
		{"", 0, false, false},
		{"1000", time.Second, true, false},
		{"300000", 5 * time.Minute, true, false},
		{"2m", 2 * time.Minute, true, false},
		{"1h30m", 90 * time.Minute, true, false},
		{"0", 0, true, false},
		{"0s", 0, true, false},
		{"abc", 0, false, true},
		{"-1", 0, false, true},
		{"-5m", 0, false, true},
		{"5 minutes", 0, false, true},
		{"1.5", 0, false, true},
		{" 5m", 0, false, true},
		{"9223372036855", 0, false, true},
		{"99999999999999999999", 0, false, true},
		{"9999999h", 0, false, true},
	} {
		got, set, err := cache.TTLFromEnv(func(name string) (string, bool) {
			require.Equal(t, "MCP_TOOL_CACHE_TTL", name)
			return tt.value, true
		})
		require.Equal(t, tt.want, got, tt.value)
		require.Equal(t, tt.set, set, tt.value)
		if tt.bad {
			require.ErrorContains(t, err, "MCP_TOOL_CACHE_TTL", tt.value)
			require.ErrorContains(t, err, "write milliseconds (300000) or a duration (5m)", tt.value)
		} else {
			require.NoError(t, err, tt.value)
		}
	}
	_, set, err := cache.TTLFromEnv(func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	require.False(t, set)
}

func FuzzTTLFromEnv(f *testing.F) {
	f.Add("5m")
	f.Add("-0")
	f.Add("300000")
	f.Fuzz(func(t *testing.T, value string) {
		d, set, err := cache.TTLFromEnv(func(string) (string, bool) { return value, true })
		require.GreaterOrEqual(t, d, time.Duration(0))
		require.False(t, set && err != nil)
	})
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
