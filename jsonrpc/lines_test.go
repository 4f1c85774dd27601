package jsonrpc

import (
	"bytes"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func readLines(r io.Reader, limit int) (out []string, tooLong int) {
	l := newLineReader(r, limit)
	for {
		got, err := l.next()
		switch err {
		case nil:
			out = append(out, string(got.text))
		case errTooLong:
			tooLong++
		default:
			return out, tooLong
		}
	}
}

func TestLineReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 5<<20)
	tests := []struct {
		name, in string
		limit    int
		want     []string
		tooLong  int
	}{
		{"nothing", "", 10, nil, 0},
		{"lines and a last one without newline", "a\nbb\nccc", 10, []string{"a", "bb", "ccc"}, 0},
		{"blank lines are lines", "\n\na\n", 10, []string{"", "", "a"}, 0},
		{"CRLF is left to the decoder", "a\r\n", 10, []string{"a\r"}, 0},
		{"far over any scanner's 64 KiB", "a\n" + long + "\nb\n", 8 << 20, []string{"a", long, "b"}, 0},
		{"a long last line without newline", long, 8 << 20, []string{long}, 0},
		{"a short line over the limit", "aaaa\nb\n", 3, []string{"b"}, 1},
		{"a long line over the limit is skipped", "a\n" + long + "\nb\n", 1 << 20, []string{"a", "b"}, 1},
		{"an endless line that ends", long, 1 << 20, nil, 1},
		{"exactly the buffer", strings.Repeat("y", lineBuffer) + "\nb\n", 1 << 20, []string{strings.Repeat("y", lineBuffer), "b"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for name, r := range map[string]io.Reader{
				"whole":  strings.NewReader(tt.in),
				"halves": iotest.HalfReader(strings.NewReader(tt.in)),
				"errors": iotest.DataErrReader(strings.NewReader(tt.in)),
			} {
				got, tooLong := readLines(r, tt.limit)
				require.Len(t, got, len(tt.want), name)
				require.Equal(t, tt.want, got, name)
				require.Equal(t, tt.tooLong, tooLong, name)
			}
		})
	}
}

// A pipe delivers one line at a time: each read ends with a line.
func TestLineReaderSkipsOneLineOnly(t *testing.T) {
	t.Parallel()
	const limit = 1 << 20
	for _, over := range []int{-1, 0, 1, 7, lineBuffer - 1, lineBuffer, lineBuffer + 1, 200_000} {
		long := strings.Repeat("x", limit+over) + "\n"
		got, tooLong := readLines(io.MultiReader(strings.NewReader(long), strings.NewReader("b\n")), limit)
		if over <= 0 {
			require.Len(t, got, 2, "%d over", over)
			continue
		}
		require.Equal(t, []string{"b"}, got, "%d over", over)
		require.Equal(t, 1, tooLong)
	}
}

func TestLineReaderSaysWhichLineWasCut(t *testing.T) {
	t.Parallel()
	for _, last := range []string{"b", strings.Repeat("b", lineBuffer), strings.Repeat("b", 3*lineBuffer+1)} {
		l := newLineReader(strings.NewReader("a\n"+last), 1<<20)
		got, err := l.next()
		require.NoError(t, err)
		require.False(t, got.open)
		got, err = l.next()
		require.NoError(t, err)
		require.True(t, got.open)
		require.Len(t, got.text, len(last))
		l = newLineReader(strings.NewReader(last+"\n"), 1<<20)
		got, err = l.next()
		require.NoError(t, err)
		require.False(t, got.open)
	}
}

func TestLineReaderKeepsBothEndsOfALineOverTheLimit(t *testing.T) {
	t.Parallel()
	text := `{"id":"at the start",` + strings.Repeat("z", 3<<20) + `,"id":"at the end"}`
	got, err := newLineReader(strings.NewReader(text+"\nnext\n"), 1<<20).next()
	require.ErrorIs(t, err, errTooLong)
	require.True(t, bytes.HasPrefix(got.text, []byte(`{"id":"at the start"`)))
	require.True(t, bytes.HasSuffix(got.tail, []byte(`"id":"at the end"}`)))

	// The last read may return only a few bytes.
	for rest := 1; rest < 40; rest++ {
		text := strings.Repeat("z", 2*lineBuffer+rest-len(`,"id":"x"}`)) + `,"id":"x"}`
		got, err := newLineReader(strings.NewReader(text+"\n"), 2*lineBuffer).next()
		require.ErrorIs(t, err, errTooLong)
		require.True(t, bytes.HasSuffix(got.tail, []byte(`,"id":"x"}`)), "%d", rest)
	}
}

// A long line takes about twice its memory.
func TestLineReaderAllocatesAboutTwiceALongLine(t *testing.T) {
	testmain.SkipLarge(t)
	const size = 16 << 20
	text := strings.Repeat("x", size) + "\n"
	var l *lineReader
	result := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			l = newLineReader(strings.NewReader(text), size)
			got, err := l.next()
			if err != nil || len(got.text) != size {
				b.Fatal(err)
			}
		}
	})
	require.LessOrEqual(t, float64(result.AllocedBytesPerOp())/size, 2.3)
}

func FuzzLineReader(f *testing.F) {
	f.Add([]byte("a\nb\n\nc"), 3)
	f.Add([]byte("aaaaaaaaaa\nb"), 4)
	f.Fuzz(func(t *testing.T, in []byte, limit int) {
		limit = 1 + abs(limit)%1000
		want := strings.Split(string(in), "\n")
		if want[len(want)-1] == "" {
			want = want[:len(want)-1]
		}
		kept := want[:0]
		for _, s := range want {
			if len(s) <= limit {
				kept = append(kept, s)
			}
		}
		got, _ := readLines(iotest.OneByteReader(bytes.NewReader(in)), limit)
		require.Len(t, got, len(kept))
		for i := range kept {
			require.Equal(t, kept[i], got[i])
		}
	})
}

func abs(i int) int {
	if i < 0 {
		return -(i + 1)
	}
	return i
}

// A line over the limit is dropped while it arrives.
func TestLineReaderDoesNotHoldALineOverTheLimit(t *testing.T) {
	testmain.SkipLarge(t)
	const limit, size = 1 << 20, 64 << 20
	l := newLineReader(io.MultiReader(io.LimitReader(same('x'), size), strings.NewReader("\nb\n")), limit)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := l.next()
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, errTooLong)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4*limit))
	got, err := l.next()
	require.NoError(t, err)
	require.Equal(t, "b", string(got.text))
}

// same is a stream of one byte.
type same byte

func (s same) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(s)
	}
	return len(p), nil
}

// A connection keeps a small buffer while nothing arrives, and borrows a large one for
// more data.
func TestLineBufferIsReturned(t *testing.T) {
	t.Parallel()
	var parts []io.Reader
	var want []string
	for _, size := range []int{10, idleBuffer - 2, idleBuffer, 3 * idleBuffer, lineBuffer + 1, 10} {
		want = append(want, strings.Repeat("x", size))
		parts = append(parts, strings.NewReader(want[len(want)-1]+"\n"))
	}
	l := newLineReader(io.MultiReader(parts...), 1<<20)
	for _, text := range want {
		got, err := l.next()
		require.NoError(t, err)
		require.Equal(t, text, string(got.text))
		if len(text) < idleBuffer { // it did not fill the small one
			l.room()
			require.Nil(t, l.busy)
			require.Len(t, l.buf, idleBuffer)
		}
	}
	_, err := l.next()
	require.ErrorIs(t, err, io.EOF)
	require.Nil(t, l.busy)
}
