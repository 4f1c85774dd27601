package jsonrpc

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSplitBatch(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, text string
		want       []string
		fails      string
	}{
		{"one", `[{"a":1}]`, []string{`{"a":1}`}, ""},
		{"brackets in strings", ` [{"a":"]},{\""} , {"b":[[]]}] `, []string{`{"a":"]},{\""} `, ` {"b":[[]]}`}, ""},
		{"empty", `[]`, []string{``}, ""},
		{"other values", `[{},1,[2]]`, []string{`{}`, `1`, `[2]`}, ""},
		{"broken inside", `[{"a":tru},{"b":1}]`, []string{`{"a":tru}`, `{"b":1}`}, ""},
		{"cut", `[{"a":1},{"b":`, []string{`{"a":1}`}, "incomplete"},
		{"cut in a string", `[{"a":1},{"b":"`, []string{`{"a":1}`}, "incomplete"},
		{"cut behind a backslash", `[{"b":"\`, nil, "incomplete"},
		{"more behind it", `[{"a":1}] x`, nil, "more bytes"},
		{"unbalanced", `[{"a":1}}]`, nil, "more bytes"},
		{"no array", `{}`, nil, "incomplete"},
		{"nothing", ``, nil, "incomplete"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			parts, err := SplitBatch([]byte(tt.text))
			var got []string
			for _, part := range parts {
				got = append(got, string(part))
			}
			require.Equal(t, tt.want, got)
			if tt.fails == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, tt.fails)
			require.ErrorIs(t, err, ErrInvalid)
		})
	}
	parts, err := SplitBatch([]byte("[" + strings.Repeat("{},", maxBatch) + "{}]"))
	var de *DecodeError
	require.ErrorAs(t, err, &de)
	require.True(t, de.TooLarge)
	require.Len(t, parts, maxBatch-1)
	_, err = SplitBatch([]byte("[" + strings.Repeat("{},", maxBatch-1) + "{}]"))
	require.NoError(t, err)
}

// In a revision with batches, a batch is read message by message, and an invalid
// message fails only its own call. In other revisions a batch is a fault that fails
// no call.
func TestBatches(t *testing.T) {
	t.Parallel()
	const good = `{"jsonrpc":"2.0","id":1,"result":{}}`
	tests := []struct {
		name, line string
		ends       []int64 // calls with an answer
		fails      []int64
		notes      int
		faults     uint64
		noise      uint64
	}{
		{"answers and a notification", `[` + good + `,{"jsonrpc":"2.0","method":"note"},{"jsonrpc":"2.0","id":2,"result":1}]`, []int64{1, 2}, nil, 1, 0, 0},
		{"a broken one", ` [{"jsonrpc":"2.0","id":2,"result":1,"result":2}, ` + good + `] `, []int64{1}, []int64{2}, 0, 1, 0},
		{"one too deep", `[` + nested(600, `"id":2,`, "") + `,` + good + `]`, []int64{1}, []int64{2}, 0, 1, 0},
		{"one too deep for any decoder", `[` + nested(50_000, `"id":2,`, "") + `,` + good + `]`, []int64{1}, []int64{2}, 0, 1, 0},
		{"one that is no JSON", `[` + good + `,{"a":tru}]`, []int64{1}, nil, 0, 0, 1},
		{"values of other kinds", `[` + good + `,1,"x",[],]`, []int64{1}, nil, 0, 4, 0},
		{"a batch in a batch", `[` + good + `,[{"jsonrpc":"2.0","id":2,"result":1}]]`, []int64{1}, nil, 0, 1, 0},
		{"cut", `[` + good + `,{"jsonrpc":"2.0","id":2,"res`, []int64{1}, nil, 0, 1, 0},
		{"empty", `[]`, nil, nil, 0, 1, 0},
		{"a log line", `[INFO] ready`, nil, nil, 0, 0, 1},
		{"a log line of JSON", `[{"level":"info"}] ready`, nil, nil, 0, 1, 0},
	}
	for _, tt := range tests {
		for _, agreed := range []bool{true, false} {
			t.Run(tt.name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					var h heard
					p := newPeer(t, h.config())
					p.conn.AcceptBatches(agreed)
					ends := map[int64]chan error{}
					for _, id := range []int64{1, 2} {
						ends[id] = make(chan error, 1)
						go func() {
							_, err := p.conn.Call(t.Context(), Request{ID: IntID(id), Method: "m"}, Wait{Max: time.Minute})
							ends[id] <- err
						}()
						p.hear()
					}
					p.say(tt.line)
					synctest.Wait()
					if !agreed {
						require.Equal(t, 2, p.conn.InFlight(), "no call is completed")
						require.Positive(t, p.conn.Stats().Faults+p.conn.Stats().Noise)
						return
					}
					for _, id := range tt.ends {
						require.NoError(t, <-ends[id])
					}
					for _, id := range tt.fails {
						var de *DecodeError
						require.ErrorAs(t, <-ends[id], &de)
					}
					require.Equal(t, 2-len(tt.ends)-len(tt.fails), p.conn.InFlight())
					require.Len(t, h.notes, tt.notes)
					require.Equal(t, Stats{Faults: tt.faults, Noise: tt.noise}, p.conn.Stats())
				})
			})
		}
	}
}

func FuzzSplitBatch(f *testing.F) {
	for _, seed := range []string{`[]`, `[{"a":"]"},{"b":[1]}]`, `[{"a":1}] x`, `[{"a\`, "[{},1", "x"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		parts, err := SplitBatch(data)
		at := 0
		for _, part := range parts {
			next := strings.Index(string(data[at:]), string(part))
			require.GreaterOrEqual(t, next, 0, "what comes out was in there, in order")
			at += next + len(part)
		}
		var whole []any
		if Unmarshal(data, &whole) == nil {
			require.NoError(t, err, "what is an array is split")
			require.Len(t, parts, max(1, len(whole)))
			for _, part := range parts {
				var v any
				require.True(t, len(whole) == 0 || Unmarshal(part, &v) == nil, "%s", part)
			}
		}
	})
}
