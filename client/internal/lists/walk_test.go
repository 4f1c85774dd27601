package lists

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// scriptedPages answers a walk from pairs of bytes: the next cursor and the number of items. A
// cursor is the index of its page; some are rejected once.
type scriptedPages struct {
	script []byte
	asked  int
	bad    map[string]bool
}

func (s *scriptedPages) fetch(_ context.Context, cursor *string) (Page[string], error) {
	s.asked++
	at, name := 0, "first"
	if cursor != nil {
		name = *cursor + "."
		if s.bad[*cursor] {
			delete(s.bad, *cursor)
			return Page[string]{}, errormap.FromRPC(&jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "bad cursor"}, errormap.Options{})
		}
		if _, err := fmt.Sscan(*cursor, &at); err != nil && *cursor != "" {
			return Page[string]{}, err
		}
	}
	p := Page[string]{Bytes: 10}
	if 2*at+1 >= len(s.script) {
		return p, nil
	}
	for i := range s.script[2*at+1] % 5 {
		p.Items = append(p.Items, fmt.Sprint(name, i))
	}
	switch next := s.script[2*at]; {
	case next == 255:
	case next == 254:
		p.Next = new(string)
	default:
		text := fmt.Sprint(next)
		p.Next = &text
	}
	return p, nil
}

// Whatever the cursors of a server are, a walk ends, requests no page twice unless it starts
// over, which it does once, and yields no item twice.
func FuzzCursorWalk(f *testing.F) {
	f.Add([]byte{1, 2, 255, 3}, byte(9))
	f.Add([]byte{0, 1}, byte(9))
	f.Add([]byte{254, 1}, byte(9))
	f.Add([]byte{1, 1, 2, 1, 0, 1}, byte(2))
	f.Add([]byte{1, 1, 2, 1, 255, 1}, byte(2))
	f.Fuzz(func(t *testing.T, script []byte, bad byte) {
		s := &scriptedPages{script: script, bad: map[string]bool{fmt.Sprint(bad): true}}
		c := testCache(t)
		seen := map[string]bool{}
		for item, err := range Walk(t.Context(), c, "x/list", func(s string) string { return s }, s.fetch) {
			require.NoError(t, err, "the one bad cursor is mended")
			require.False(t, seen[item], item)
			seen[item] = true
		}
		pages := len(script)/2 + 3 // a first, an unknown and a bad one
		require.LessOrEqual(t, s.asked, 2*pages)
	})
}

// A list of few very large pages ends, too.
func TestWalkIsBoundedByBytes(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ bytes, want int }{"at the bound": {maxBytes / 4, 4}, "beyond it": {maxBytes/4 + 1, 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := testCache(t)
			asked, got := 0, 0
			var last error
			for _, err := range Walk(t.Context(), c, "x/list", func(s string) string { return s }, func(context.Context, *string) (Page[string], error) {
				asked++
				next := fmt.Sprint(asked)
				p := Page[string]{Items: []string{next}, Bytes: tt.bytes}
				if asked < 4 {
					p.Next = &next
				}
				return p, nil
			}) {
				if last = err; err == nil {
					got++
				}
			}
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.want < 4, last != nil)
			if last != nil {
				require.ErrorContains(t, last, "the server's list does not end: it has too many pages, items or bytes")
			}
		})
	}
}
