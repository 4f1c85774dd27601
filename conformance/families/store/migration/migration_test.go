package migration

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func folder(files ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for _, f := range files {
		out[f] = &fstest.MapFile{Data: []byte("-- " + f)}
	}
	return out
}

func TestLoad(t *testing.T) {
	t.Parallel()
	got, err := Load(folder("0002_b.up.sql", "0002_b.down.sql", "0001_a_b.up.sql", "0001_a_b.down.sql", "README"))
	require.NoError(t, err)
	require.Equal(t, []Migration{
		{Version: 1, Name: "a_b", Up: "-- 0001_a_b.up.sql", Down: "-- 0001_a_b.down.sql"},
		{Version: 2, Name: "b", Up: "-- 0002_b.up.sql", Down: "-- 0002_b.down.sql"},
	}, got)
	for want, files := range map[string][]string{
		"step 1 is missing":                 {"0002_b.up.sql", "0002_b.down.sql"},
		"step 2 is missing":                 {"0001_a.up.sql", "0001_a.down.sql", "0003_c.up.sql", "0003_c.down.sql"},
		"one of its two files is missing":   {"0001_a.up.sql"},
		"has two names":                     {"0001_a.up.sql", "0001_b.down.sql"},
		"the name is not NNNN_name.up.sql":  {"one_a.up.sql"},
		"0001_a.sql: the name is not":       {"0001_a.sql"},
		"0001.up.sql: the name is not NNNN": {"0001.up.sql"},
	} {
		_, err := Load(folder(files...))
		require.ErrorContains(t, err, want)
	}
}

func TestPlan(t *testing.T) {
	t.Parallel()
	all, err := Load(folder("0001_a.up.sql", "0001_a.down.sql", "0002_b.up.sql", "0002_b.down.sql"))
	require.NoError(t, err)
	for _, tc := range []struct {
		from, to int
		want     []string
	}{
		{0, 2, []string{"-- 0001_a.up.sql", "-- 0002_b.up.sql"}},
		{1, 2, []string{"-- 0002_b.up.sql"}},
		{2, 2, nil},
		{2, 0, []string{"-- 0002_b.down.sql", "-- 0001_a.down.sql"}},
	} {
		steps, err := Plan(all, tc.from, tc.to)
		require.NoError(t, err)
		var got []string
		version := tc.from
		for _, s := range steps {
			got = append(got, s.SQL)
			version = s.Version
		}
		require.Equal(t, tc.want, got)
		require.Equal(t, tc.to, version)
	}
	_, err = Plan(all, 3, 2)
	require.ErrorContains(t, err, "use a newer program")
	_, err = Plan(all, 0, 3)
	require.ErrorContains(t, err, "there is no schema version 3")
}
