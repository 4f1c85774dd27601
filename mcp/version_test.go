package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersion(t *testing.T) {
	t.Parallel()
	tests := []struct {
		in    string
		known bool
		era   Era
	}{
		{"2024-11-05", true, EraSession},
		{"2025-03-26", true, EraSession},
		{"2025-06-18", true, EraSession},
		{"2025-11-25", true, EraSession},
		{"2026-07-28", true, EraStateless},
		{"", false, EraUnknown},
		{"1999-01-01", false, EraUnknown},
		{"9999-99-99", false, EraUnknown},
		{" 2025-11-25", false, EraUnknown},
	}
	for _, tt := range tests {
		v, ok := ParseVersion(tt.in)
		require.Equal(t, tt.known, ok, tt.in)
		require.Equal(t, tt.known, v.Known(), tt.in)
		require.Equal(t, tt.era, v.Era(), tt.in)
		require.Equal(t, tt.in, v.String())
	}
}

func TestVersionOrder(t *testing.T) {
	t.Parallel()
	all := Versions()
	require.Len(t, all, 5)
	for i, v := range all {
		for j, w := range all {
			require.Equal(t, i >= j, v.AtLeast(w), "%s %s", v, w)
		}
		// A text that sorts after all dates is not a newer revision.
		require.False(t, Version("draft").AtLeast(v))
		require.False(t, v.AtLeast("2000-01-01"))
	}
	require.Equal(t, Latest, all[len(all)-1])
	require.Equal(t, EraSession, LatestSession.Era())
	all[0] = "changed"
	require.Equal(t, Version2024_11_05, Versions()[0])
}

func TestNewest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		offered []string
		era     Era
		want    Version
		ok      bool
	}{
		{"any order", []string{"2025-06-18", "2026-07-28", "2024-11-05"}, EraUnknown, Version2026_07_28, true},
		{"session only", []string{"2025-06-18", "2026-07-28", "2024-11-05"}, EraSession, Version2025_06_18, true},
		{"unknown later text", []string{"zzz", "2030-01-01", "2025-03-26"}, EraUnknown, Version2025_03_26, true},
		{"other era", []string{"2025-03-26"}, EraStateless, "", false},
		{"none", nil, EraUnknown, "", false},
	}
	for _, tt := range tests {
		got, ok := Newest(tt.offered, tt.era)
		require.Equal(t, tt.want, got, tt.name)
		require.Equal(t, tt.ok, ok, tt.name)
	}
}

func TestEraString(t *testing.T) {
	t.Parallel()
	require.Equal(t, "session", EraSession.String())
	require.Equal(t, "stateless", EraStateless.String())
	require.Equal(t, "unknown", Era(9).String())
}
