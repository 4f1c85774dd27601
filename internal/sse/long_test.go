package sse_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/sse"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// plain reads a stream by the rules of the standard, with all of it in memory.
func plain(input string) []sse.Event {
	input = strings.TrimPrefix(input, "\uFEFF")
	input = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(input)
	lines := strings.Split(input, "\n")
	var events []sse.Event
	var e sse.Event
	var data []string
	for _, line := range lines[:len(lines)-1] {
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if text := strings.Join(data, "\n"); text != "" {
				e.Data = []byte(text)
			}
			if e.Data != nil || e.HasID || e.HasRetry {
				events = append(events, e)
			}
			e, data = sse.Event{}, nil
		case name == "data":
			data = append(data, value)
		case name == "event":
			e.Name = value
		case name == "id" && !strings.Contains(value, "\x00"):
			e.ID, e.HasID = value, true
		case name == "retry" && value != "" && strings.Trim(value, "0123456789") == "" && len(value) < 10:
			e.HasRetry = true
			for _, c := range value {
				e.Retry = 10*e.Retry + time.Duration(c-'0')*time.Millisecond
			}
		}
	}
	return events
}

// FuzzReader_LongLines compares the reader with a plain one, on lines that do and do not fit its
// buffer: an L is 3,000 bytes.
func FuzzReader_LongLines(f *testing.F) {
	for _, seed := range []string{
		"data: L\n\n", "data: LL\n\ndata: b\n\n", "data: LLLLLLLLLLLLLLLLLLLLLLLLLLLLLL\r\n\r\ndata: b\r\rdata: LL\n\n",
		"\uFEFFdata:LL\ndata: LL\rdata\r\ndata: b\n\n", "id: LL\nevent: LL\n: LL\nLL\ndata: a\n\n", "data: LLL", "data: LL\r\n\n\ndata: x\n\n",
		"retry: 10\ndata: LL\ndata: LL\n\nid: LL\r\r",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, input string) {
		if strings.Count(input, "L") > 100 || strings.Contains(input, "retry") && len(input) > 200 {
			t.Skip("too long for a test, or a retry time that overflows")
		}
		input = strings.ReplaceAll(input, "L", strings.Repeat("x", 3000))
		want := plain(input)
		for name, source := range map[string]io.Reader{
			"whole":  strings.NewReader(input),
			"halves": iotest.HalfReader(strings.NewReader(input)),
			"bytes":  iotest.OneByteReader(strings.NewReader(input)),
		} {
			r := sse.NewReader(source, 0, 0)
			got, err := readAll(r)
			require.Equal(t, io.EOF, err, name)
			require.Equal(t, want, got, name)
			r.Free()
		}
	})
}

// Limits also apply to lines that do not fit the buffer.
func TestReader_LongLimits(t *testing.T) {
	t.Parallel()
	const line, total = 100_000, 200_000
	x := func(n int) string { return strings.Repeat("x", n) }
	cases := map[string]struct {
		input string
		sizes []int // size of the events' data, -1 for a lost event
	}{
		"line at the limit":     {"data: " + x(line) + "\n\ndata: b\n\n", []int{line, 1}},
		"line over the limit":   {"data: " + x(line+1) + "\n\ndata: b\n\n", []int{-1, 1}},
		"far over the limit":    {"data: " + x(5*line) + "\r\n\r\ndata: b\n\n", []int{-1, 1}},
		"event at the limit":    {"data: " + x(line) + "\ndata: " + x(line-1) + "\n\ndata: b\n\n", []int{total, 1}},
		"event over the limit":  {"data: " + x(line) + "\ndata: " + x(line) + "\n\ndata: b\n\n", []int{-1, 1}},
		"and goes on":           {"data: " + x(line+1) + "\ndata: " + x(line) + "\ndata: c\n\ndata: b\n\n", []int{-1, 1}},
		"an id over the limit":  {"id: " + x(line+10) + "\ndata: c\n\ndata: b\n\n", []int{-1, 1}},
		"a comment at the edge": {":" + x(line) + "\ndata: c\n\n", []int{1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for kind, source := range map[string]io.Reader{
				"whole":  strings.NewReader(c.input),
				"halves": iotest.HalfReader(strings.NewReader(c.input)),
			} {
				r := sse.NewReader(source, line, total)
				var sizes []int
				for {
					e, err := r.Next()
					if errors.Is(err, io.EOF) {
						break
					}
					size := len(e.Data)
					if errors.Is(err, sse.ErrTooLong) {
						size = -1
					}
					sizes = append(sizes, size)
				}
				require.Equal(t, c.sizes, sizes, kind)
			}
		})
	}
}

// An event costs twice its size, whatever its lines are, and a short stream costs only its
// events.
func TestReader_Cost(t *testing.T) { //nolint:paralleltest // counts what the whole process allocates
	if testmain.Race {
		t.Skip("the race detector allocates")
	}
	const size = 4 << 20
	for name, input := range map[string]string{
		"one line":   "data: " + strings.Repeat("x", size) + "\n\n",
		"long lines": strings.Repeat("data: "+strings.Repeat("x", 100_000)+"\n", size/100_000) + "\n",
		"many lines": strings.Repeat("data: "+strings.Repeat("x", 80)+"\n", size/80) + "\n",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := sse.NewReader(strings.NewReader(input), 0, 0)
		e, err := r.Next()
		runtime.ReadMemStats(&after)
		require.NoError(t, err)
		times := float64(after.TotalAlloc-before.TotalAlloc) / float64(len(e.Data))
		t.Logf("%s: %.2f times its size", name, times)
		require.Less(t, times, 2.3, name)
		r.Free()
	}
	source := bytes.NewReader(nil)
	short := []byte("event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	allocs := testing.AllocsPerRun(200, func() {
		source.Reset(short)
		r := sse.NewReader(source, 0, 0)
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		r.Free()
	})
	require.LessOrEqual(t, allocs, 1.0, "its data")
}

// Data belongs to the caller, even after the reader was recycled.
func TestReader_DataIsTheCallers(t *testing.T) {
	t.Parallel()
	r := sse.NewReader(strings.NewReader("data: aaaa\n\ndata: bbbb\n\n"), 0, 0)
	a, err := r.Next()
	require.NoError(t, err)
	b, err := r.Next()
	require.NoError(t, err)
	r.Free()
	for range 3 {
		again := sse.NewReader(strings.NewReader("data: cccc\n\n"), 0, 0)
		_, err = again.Next()
		require.NoError(t, err)
		again.Free()
	}
	require.Equal(t, "aaaa bbbb", string(a.Data)+" "+string(b.Data))
}

// The end of the source is known as soon as the source has reported it.
func TestReader_Ended(t *testing.T) {
	t.Parallel()
	for _, input := range []string{"data: a\n\n", "data: " + strings.Repeat("x", 100_000) + "\n\n"} {
		r := sse.NewReader(iotest.DataErrReader(strings.NewReader(input)), 0, 0)
		require.False(t, r.Ended())
		_, err := r.Next()
		require.NoError(t, err)
		require.True(t, r.Ended())
		r = sse.NewReader(strings.NewReader(input), 0, 0)
		_, err = r.Next()
		require.NoError(t, err)
		require.False(t, r.Ended(), "this source tells it alone")
	}
}
