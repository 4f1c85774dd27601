package sse_test

import (
	"bytes"
	"errors"
	"io"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/internal/sse"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// readAll returns every event, with Data copied, and the error that ended the
// stream. Lost events appear with the name "TOO LONG".
func readAll(r *sse.Reader) ([]sse.Event, error) {
	var events []sse.Event
	for {
		e, err := r.Next()
		switch {
		case errors.Is(err, sse.ErrTooLong):
			events = append(events, sse.Event{ID: e.ID, HasID: e.HasID, Name: "TOO LONG"})
		case err != nil:
			return events, err
		default:
			e.Data = bytes.Clone(e.Data)
			events = append(events, e)
		}
	}
}

func message(data string) sse.Event { return sse.Event{Data: []byte(data)} }

func TestReader(t *testing.T) {
	t.Parallel()
	cases := []struct {
		name  string
		input string
		want  []sse.Event
	}{
		{"SSE-01 line feeds", "data: a\n\ndata: b\n\n", []sse.Event{message("a"), message("b")}},
		{"SSE-01 carriage returns", "data: a\r\rdata: b\r\r", []sse.Event{message("a"), message("b")}},
		{"SSE-01 both", "data: a\r\n\r\ndata: b\r\n\r\n", []sse.Event{message("a"), message("b")}},
		{"SSE-01 mixed ends", "data: a\rdata: b\ndata: c\r\n\r\n", []sse.Event{message("a\nb\nc")}},
		{"SSE-01 byte order mark", "\uFEFFdata: a\n\n\uFEFFdata: b\n\n", []sse.Event{message("a")}},
		{"SSE-01 one space only", "data:  a\n\ndata:b\n\n", []sse.Event{message(" a"), message("b")}},
		{"SSE-01 joined lines", "data: a\ndata\ndata: b\n\n", []sse.Event{message("a\n\nb")}},
		{"SSE-01 comments and unknown fields", ": hi\nfoo: bar\ndata: a\nbar\n\n:\n\n", []sse.Event{message("a")}},
		{"SSE-01 field names are exact", "Data: a\n data: b\ndata : c\n\n", nil},
		{"SSE-02 incomplete event", "data: a\n\ndata: b\n", []sse.Event{message("a")}},
		{"SSE-02 incomplete line", "data: a\n\ndata: b", []sse.Event{message("a")}},
		{"SSE-03 names", "event: ping\ndata: a\n\nevent: message\ndata: b\n\n", []sse.Event{
			{Name: "ping", Data: []byte("a")},
			{Name: "message", Data: []byte("b")},
		}},
		{"SSE-04 priming event", "id: 1\ndata:\n\n", []sse.Event{{ID: "1", HasID: true}}},
		{"SSE-04 id resets", "id\n\n", []sse.Event{{HasID: true}}},
		{"SSE-04 empty data alone", "data:\n\nevent: x\n\ndata: a\n\n", []sse.Event{message("a")}},
		{"SSE-05 NUL in id", "id: a\x00b\ndata: a\n\n", []sse.Event{message("a")}},
		{"SSE-05 retry", "retry: 3000\n\n", []sse.Event{{Retry: 3 * time.Second, HasRetry: true}}},
		{"SSE-05 retry not digits", "retry: 3s\nretry: -1\nretry:\nretry: +1\ndata: a\n\n", []sse.Event{message("a")}},
		{"SSE-05 retry overflow", "retry: 99999999999999999999\n\n", []sse.Event{
			{Retry: math.MaxInt64 / time.Millisecond * time.Millisecond, HasRetry: true},
		}},
		{"nothing", "", nil},
		{"blank lines", "\n\r\r\n\n", nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, source := range map[string]io.Reader{
				"whole":         strings.NewReader(c.input),
				"1-byte chunks": iotest.OneByteReader(strings.NewReader(c.input)),
				"data with EOF": iotest.DataErrReader(strings.NewReader(c.input)),
			} {
				got, err := readAll(sse.NewReader(source, 0, 0))
				require.Equal(t, io.EOF, err, name)
				require.Equal(t, c.want, got, name)
			}
		})
	}
}

// TestReader_DispatchesAtOnce: an event is returned at its blank line, even if that line ends in
// CR and a LF might follow.
func TestReader_DispatchesAtOnce(t *testing.T) {
	t.Parallel()
	for _, input := range []string{"data: a\n\n", "data: a\r\n\r\n", "data: a\r\r"} {
		pr, pw := io.Pipe()
		go func() {
			_, _ = io.WriteString(pw, input) // returns when every byte was read
		}()
		r := sse.NewReader(pr, 0, 0)
		e, err := r.Next()
		require.NoError(t, err)
		require.Equal(t, "a", string(e.Data))
		require.NoError(t, pw.Close())
		_, err = r.Next()
		require.Equal(t, io.EOF, err)
	}
}

func TestReader_Limits(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 20_000)
	cases := []struct {
		name  string
		input string
		want  []string
	}{
		{"line exactly at the limit", "data: " + long[:100] + "\n\n", []string{long[:100]}},
		{"line over the limit", "data: " + long[:101] + "\n\ndata: b\n\n", []string{"TOO LONG", "b"}},
		{"line far over the limit", "data: " + long + "\r\n\r\ndata: b\n\n", []string{"TOO LONG", "b"}},
		{"comment over the limit", ": " + long + "\ndata: a\n\ndata: b\n\n", []string{"TOO LONG", "b"}},
		{"event over the limit", strings.Repeat("data: "+long[:90]+"\n", 3) + "\ndata: b\n\n", []string{"TOO LONG", "b"}},
		{"event of many empty lines", strings.Repeat("data\n", 500) + "\ndata: b\n\n", []string{"TOO LONG", "b"}},
		{"never ends", "data: " + long, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for name, source := range map[string]io.Reader{
				"whole":         strings.NewReader(c.input),
				"1-byte chunks": iotest.OneByteReader(strings.NewReader(c.input)),
			} {
				events, err := readAll(sse.NewReader(source, 100, 200))
				require.Equal(t, io.EOF, err, name)
				var got []string
				for _, e := range events {
					got = append(got, e.Name+string(e.Data))
				}
				require.Equal(t, c.want, got, name)
			}
		})
	}
}

// TestReader_TooLongKeepsBothEnds: servers write the id of an answer at either end, and it is
// kept.
func TestReader_TooLongKeepsBothEnds(t *testing.T) {
	t.Parallel()
	body := `{"id":1,` + strings.Repeat(" ", 9000) + `"id":2}`
	for name, input := range map[string]string{
		"one line":    "id: 7\ndata: " + body + "\n\n",
		"three lines": "id: 7\ndata: {\"id\":1,\ndata: " + body[8:] + "\ndata: \"id\":2}\n\n",
	} {
		e, err := sse.NewReader(strings.NewReader(input), 100, 200).Next()
		var over *sse.TooLongError
		require.ErrorAs(t, err, &over, name)
		require.Equal(t, "7", e.ID, name)
		require.True(t, bytes.HasPrefix(over.Head, []byte(`{"id":1,`)), name)
		require.True(t, bytes.HasSuffix(over.Tail, []byte(`"id":2}`)), name)
		require.LessOrEqual(t, len(over.Head), 512)
		require.LessOrEqual(t, len(over.Tail), 513)
	}
}

// TestReader_LongStream: the buffer is compacted and grown many times over.
func TestReader_LongStream(t *testing.T) {
	t.Parallel()
	var input []byte
	var want []string
	for i := range 400 {
		data := strings.Repeat(string(rune('a'+i%26)), i*i%17_000+1)
		want = append(want, data)
		input = sse.AppendEvent(input, message(data))
	}
	got, err := readAll(sse.NewReader(iotest.HalfReader(bytes.NewReader(input)), 0, 0))
	require.Equal(t, io.EOF, err)
	require.Len(t, got, len(want))
	for i := range want {
		require.Equal(t, want[i], string(got[i].Data))
	}
}

func TestReader_SourceErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("connection reset")
	r := sse.NewReader(io.MultiReader(strings.NewReader("data: a\n\ndata: b"), iotest.ErrReader(broken)), 0, 0)
	e, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, "a", string(e.Data))
	for range 2 {
		_, err = r.Next()
		require.Equal(t, broken, err)
	}
	_, err = sse.NewReader(silent{}, 0, 0).Next()
	require.Equal(t, io.ErrNoProgress, err)
}

// silent violates the contract of io.Reader: it returns no bytes and no error, forever.
type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func TestEvent_IsMessage(t *testing.T) {
	t.Parallel()
	require.True(t, message("a").IsMessage())
	require.True(t, sse.Event{Name: "message", Data: []byte("a")}.IsMessage())
	require.False(t, sse.Event{Name: "endpoint", Data: []byte("a")}.IsMessage())
	require.False(t, sse.Event{ID: "1", HasID: true}.IsMessage())
}

func TestAppendEvent(t *testing.T) {
	t.Parallel()
	cases := []struct {
		event sse.Event
		want  string
	}{
		{message("a"), "data: a\n\n"},
		{message("a\n\nb\r\nc\rd"), "data: a\ndata:\ndata: b\ndata: c\ndata: d\n\n"},
		{sse.Event{ID: "1", HasID: true}, "id: 1\ndata:\n\n"},
		{sse.Event{Retry: 1500 * time.Millisecond, HasRetry: true}, "retry: 1500\n\n"},
		{sse.Event{Name: "x\ny", ID: "a\x00\r", HasID: true, Data: []byte("z")}, "event: xy\nid: a\ndata: z\n\n"},
	}
	for _, c := range cases {
		require.Equal(t, c.want, string(sse.AppendEvent(nil, c.event)))
	}
}

// FuzzReader: no input panics, chunking has no effect, limits hold, and events survive writing
// and reading.
func FuzzReader(f *testing.F) {
	for _, seed := range []string{
		"data: a\n\n", "\uFEFFid: 1\r\ndata:\r\n\r\n", "event: message\rdata: {}\r\r", "retry: 10\n\ndata\ndata\n\n",
		": c\nid: \x00\ndata: " + strings.Repeat("x", 300) + "\n\ndata: ok\n\n",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, input []byte) {
		const line, total = 64, 128
		events, err := readAll(sse.NewReader(bytes.NewReader(input), line, total))
		require.Equal(t, io.EOF, err)
		chunked, err := readAll(sse.NewReader(iotest.OneByteReader(bytes.NewReader(input)), line, total))
		require.Equal(t, io.EOF, err)
		require.Equal(t, events, chunked)

		var wire []byte
		var kept []sse.Event
		for _, e := range events {
			require.LessOrEqual(t, len(e.Data), total)
			if e.Name == "TOO LONG" || strings.ContainsRune(e.Name, 0) {
				continue
			}
			if len(e.Data) == 0 {
				e.Data = nil
			}
			kept = append(kept, e)
			wire = sse.AppendEvent(wire, e)
		}
		again, err := readAll(sse.NewReader(bytes.NewReader(wire), 0, 0))
		require.Equal(t, io.EOF, err)
		require.Equal(t, kept, again)
	})
}

// zeros never ends.
type zeros struct{ read int }

func (z *zeros) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '0'
	}
	z.read += len(p)
	return len(p), nil
}

// An endless line fails soon after its limit.
func TestReader_EndlessLine(t *testing.T) {
	t.Parallel()
	endless := &zeros{}
	r := sse.NewReader(io.MultiReader(strings.NewReader("data: x\n\ndata: "), endless), 1<<16, 1<<16)
	event, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, "x", string(event.Data))
	_, err = r.Next()
	require.ErrorIs(t, err, sse.ErrEndless)
	_, err = r.Next()
	require.ErrorIs(t, err, sse.ErrEndless, "and stays given up")
	require.Less(t, endless.read, 4<<20)
}

// Lines that end in CR are found as fast as others, even if the next LF is far away: here after
// the data of a long line.
func TestReader_ManyCarriageReturns(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	for name, input := range map[string]string{
		"blank lines": ":" + strings.Repeat("x", size) + "\n" + strings.Repeat("\r", size),
		"comments":    ":" + strings.Repeat("x", size) + "\n" + strings.Repeat(":x\r", size/3),
		"and a LF":    ":" + strings.Repeat("x", size) + "\n" + strings.Repeat("\r", size) + "\n",
	} {
		require.Less(t, testmain.Busy(func() {
			_, err := sse.NewReader(strings.NewReader(input), 0, 0).Next()
			require.Equal(t, io.EOF, err, name)
		}), 10*time.Second, name)
	}
}

// Line ends are found at every position.
func TestReader_LineEndsAnywhere(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r", "\r\n"} {
		for _, size := range []int{1, 1000, 1010, 1018, 1019, 1020, 1021, 1022, 1023, 1024, 1025, 2047, 2048, 2049, 10_000} {
			data := strings.Repeat("x", size)
			input := "data: " + data + end + end + "data: b" + end + end
			got, err := readAll(sse.NewReader(strings.NewReader(input), 0, 0))
			require.Equal(t, io.EOF, err)
			require.Equal(t, []sse.Event{message(data), message("b")}, got)
		}
	}
}

// A line has a limit of its own, independent of the limit of an event.
func TestReader_LinesAreBounded(t *testing.T) {
	t.Parallel()
	const limit = 100
	for _, field := range []string{"data: ", "id: ", "event: ", "retry: ", ": ", "other: "} {
		for _, size := range []int{2 * limit, 5_000, 1 << 19} {
			input := field + strings.Repeat("1", size) + "\ndata: a\n\ndata: b\n\n"
			for name, source := range map[string]io.Reader{
				"whole":  strings.NewReader(input),
				"halves": iotest.HalfReader(strings.NewReader(input)),
			} {
				r := sse.NewReader(source, limit, 1<<20)
				_, err := r.Next()
				require.ErrorIs(t, err, sse.ErrTooLong, "%s %d %s", field, size, name)
				e, err := r.Next()
				require.NoError(t, err)
				require.Equal(t, "b", string(e.Data))
			}
		}
	}
}

// A line over the limit is not kept in memory.
func TestReader_DoesNotHoldALineOverTheLimit(t *testing.T) {
	const limit = 64 << 10
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r := sse.NewReader(io.MultiReader(strings.NewReader(": "), &zeros{}), limit, 0)
	_, err := r.Next()
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, sse.ErrEndless)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(16*limit))
}

// A stream of many calls continues after an endless line.
func TestReader_SkipEndless(t *testing.T) {
	t.Parallel()
	input := "data: " + strings.Repeat("x", 3<<20) + "\n\ndata: ok\n\n"
	r := sse.NewReader(strings.NewReader(input), 64, 64)
	_, err := r.Next()
	require.ErrorIs(t, err, sse.ErrEndless)
	r = sse.NewReader(strings.NewReader(input), 64, 64)
	r.SkipEndless()
	_, err = r.Next()
	require.ErrorIs(t, err, sse.ErrTooLong)
	event, err := r.Next()
	require.NoError(t, err)
	require.Equal(t, "ok", string(event.Data))
}
