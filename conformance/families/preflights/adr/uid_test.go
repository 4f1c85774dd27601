package adr

import (
	"crypto/rand"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var noon = time.Date(2025, 1, 8, 14, 35, 12, 237_999_999, time.FixedZone("CET", 3600))

func TestNext_S3_UID_01_Form(t *testing.T) {
	t.Parallel()
	g := NewGenerator(rand.Reader)
	uid, err := g.Next(KindADR, noon, "")
	require.NoError(t, err)
	require.Regexp(t, `^20250108T133512\.237Z-A[0-9A-HJKMNP-TV-Z]{3}$`, string(uid), "UTC, and no letter that reads as a digit")
	task, err := g.Next(KindTask, noon, "")
	require.NoError(t, err)
	require.Regexp(t, `^20250108T133512\.238Z-T`, string(task), "the same millisecond is taken")
	require.Len(t, string(task), UIDLen)
}

func TestNext_S3_UID_01_04_Increasing(t *testing.T) {
	t.Parallel()
	g := NewGenerator(rand.Reader)
	var mu sync.Mutex
	var all []UID
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			var mine []UID
			for i := range 200 {
				// The clock stands still, and goes back.
				uid, err := g.Next(KindADR, noon.Add(-time.Duration(i%7)*time.Hour), "")
				if err != nil {
					return
				}
				mine = append(mine, uid)
			}
			if slices.IsSorted(mine) {
				mu.Lock()
				all = append(all, mine...)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	require.Len(t, all, 1600)
	slices.Sort(all)
	require.Len(t, slices.Compact(all), 1600)
}

func TestNext_AboveAfter(t *testing.T) {
	t.Parallel()
	g := NewGenerator(rand.Reader)
	uid, err := g.Next(KindADR, noon, "20300101T000000.000Z-ZZZZ")
	require.NoError(t, err)
	require.Regexp(t, `^20300101T000000\.001Z-A`, string(uid))
	_, err = g.Next(KindADR, noon, "99991231T235959.999Z-A000")
	require.ErrorIs(t, err, ErrUIDRange)
	again, err := g.Next(KindADR, noon, "not a UID")
	require.NoError(t, err, "a refused one leaves the generator as it was")
	require.Regexp(t, `^20300101T000000\.002Z-A`, string(again))
}

func TestUID_Valid(t *testing.T) {
	t.Parallel()
	require.True(t, UID("20250108T143512.237Z-A001").Valid())
	for _, bad := range []UID{
		"", "20250108T143512.237Z", "20250108T143512.237Z-A00", "20250108T143512.237Z-a001", "20251308T143512.237Z-A001",
		"20250230T143512.237Z-A001", "20250108T253512.237Z-A001", "20250108T143512.237Z-A001\n", " 20250108T143512.237Z-A001", "20250108T143512,237Z-A001",
	} {
		require.False(t, bad.Valid(), string(bad))
	}
}

func TestFileName(t *testing.T) {
	t.Parallel()
	const uid = "20250108T143512.237Z-A001"
	for title, want := range map[string]string{
		"Authentication": "authentication", "Add OAuth / next-auth!": "add-oauth-next-auth", "": "untitled", "日本語": "日本語", "改用 Kafka": "改用-kafka", "สวัสดี": "สวัสดี", "👍": "untitled",
		"../../etc/passwd": "etc-passwd", "Ünï": "ünï", "U\u0308ber": "über", "a\x00b": "a-b", "aux.": "aux",
		"a very long title that goes on and on and on until it is cut": "a-very-long-title-that-goes-on-and-on-and-on-until",
	} {
		require.Equal(t, uid+"_"+want+".md", FileName(uid, title))
		got, ok := FileUID(FileName(uid, title))
		require.True(t, ok)
		require.Equal(t, UID(uid), got)
		require.LessOrEqual(t, len([]rune(Slug(title))), 50)
	}
	for _, other := range []string{"README.md", uid + ".md", uid + "_x.txt", uid + "-x.md", "." + uid + "_x.md", "x"} {
		_, ok := FileUID(other)
		require.False(t, ok, other)
	}
}
