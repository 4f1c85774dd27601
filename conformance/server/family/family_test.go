package family

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestArgs(t *testing.T) {
	t.Parallel()
	args, err := ParseArgs([]byte(`{"a":"é","b":null,"c":1}`), "a", "b", "c")
	require.NoError(t, err)
	got, err := args.String("a", 1, 1)
	require.NoError(t, err, "a limit counts characters, not bytes")
	require.Equal(t, "é", got)
	for name, text := range map[string]string{
		"b": "Invalid params: b must be a string",
		"c": "Invalid params: c must be a string",
		"d": "Invalid params: Missing required argument: d",
	} {
		_, err := args.String(name, 0, 0)
		require.EqualError(t, err, text)
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, name, e.Data["field"])
	}
	for _, none := range []string{``, `null`, `{}`} {
		args, err := ParseArgs([]byte(none))
		require.NoError(t, err)
		require.Empty(t, args)
	}
}

func TestTaskID(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{}`:                                "Missing required argument: task_id",
		`{"task_id":""}`:                    "task_id must not be empty",
		`{"task_id":"a\u0000"}`:             "task_id must not contain control characters",
		`{"task_id":"a\r\nX-Evil: 1"}`:      "task_id must not contain control characters",
		`{"task_id":"\u007f"}`:              "task_id must not contain control characters",
		`{"task_id":"\u0085"}`:              "task_id must not contain control characters",
		`{"task_id":"Größe 1\u2013\u200d"}`: "",
	} {
		args, err := ParseArgs([]byte(raw), "task_id")
		require.NoError(t, err)
		id, err := args.TaskID()
		call := NewCall("tool", []byte(raw), slog.New(slog.DiscardHandler))
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, "Größe 1–\u200d", id)
			require.Equal(t, id, call.Task())
			continue
		}
		require.EqualError(t, err, "Invalid params: "+want, raw)
		require.Empty(t, call.Task(), "what is no id is not logged as one")
		var e *Error
		require.ErrorAs(t, err, &e)
		require.Equal(t, int64(-32602), e.Code)
	}
}

// Of several unknown arguments the same one is always named, and what the
// caller wrote is shortened and freed of control characters.
func TestUnknownArgument(t *testing.T) {
	t.Parallel()
	for range 20 {
		_, err := ParseArgs([]byte(`{"z":1,"y":1,"x":1,"a":1}`), "a")
		require.EqualError(t, err, "Invalid params: Unknown argument: x")
	}
	_, err := ParseArgs([]byte(`{"\u001b[31m` + strings.Repeat("é", 100) + `":1}`))
	require.EqualError(t, err, "Invalid params: Unknown argument: [31m"+strings.Repeat("é", 60)+"…")
}

func TestWireError(t *testing.T) {
	t.Parallel()
	f := &Family{Profile: "p"}
	e := f.Failure(fmt.Errorf("wrapped: %w", Invalid("x", "type", "x is %d", 1)))
	wire := e.Wire(f.Profile)
	require.Equal(t, int64(-32602), wire.Code)
	require.Equal(t, "Invalid params: x is 1", wire.Message)
	require.JSONEq(t, `{"profile":"p","field":"x","reason":"type"}`, string(wire.Data))

	cause := errors.New("/srv/secret is gone")
	e = f.Failure(cause)
	require.ErrorIs(t, e, cause, "the log may have it")
	require.NotContains(t, e.Wire("p").Message, "secret", "the client may not")
	require.Nil(t, f.Failure(nil))

	e = &Error{Code: 1, Data: map[string]any{"f": func() {}}}
	require.JSONEq(t, `{"profile":"p"}`, string(e.Wire("p").Data), "the profile survives bad data")
}

func TestCallLog(t *testing.T) {
	t.Parallel()
	var buf bytes.Buffer
	call := NewCall("tool", []byte(`{"task_id":"t-1","x":1}`), slog.New(slog.NewJSONHandler(&buf, nil)))
	call.Started(t.Context(), slog.Int("size", 3))
	call.Started(t.Context(), slog.Int("size", 4))
	call.Completed(slog.String("more", "yes"))
	call.Finish(t.Context(), nil)
	var recs []map[string]any
	for l := range strings.Lines(buf.String()) {
		var rec map[string]any
		require.NoError(t, json.Unmarshal([]byte(l), &rec))
		recs = append(recs, rec)
	}
	require.Len(t, recs, 2, "started is written once")
	require.Subset(t, recs[0], map[string]any{"msg": "tool_invocation_started", "task_id": "t-1", "tool_name": "tool", "size": 3.0})
	require.Subset(t, recs[1], map[string]any{"msg": "tool_invocation_completed", "more": "yes", "success": true})

	buf.Reset()
	call = NewCall("tool", []byte(`{"task_id":"`+strings.Repeat("x", 129)+`"}`), slog.New(slog.NewJSONHandler(&buf, nil)))
	call.Finish(t.Context(), Internal(errors.New("why")))
	require.Contains(t, buf.String(), `"task_id":""`, "what is too long for an id is not logged as one")
	require.Contains(t, buf.String(), `"cause":"why"`)
}

// A call that its caller gave up is no error of the server; one that fails for
// another reason meanwhile is.
func TestCallLog_Cancelled(t *testing.T) {
	t.Parallel()
	given, cancel := context.WithCancel(t.Context())
	cancel()
	late, stop := context.WithTimeout(t.Context(), 0)
	defer stop()
	for name, tt := range map[string]struct {
		ctx     context.Context
		failure *Error
		inBand  bool
		want    string
	}{
		"cancelled":                {given, Internal(fmt.Errorf("reading: %w", context.Canceled)), false, `"level":"INFO","msg":"tool_invocation_cancelled"`},
		"cancelled, in a result":   {given, nil, true, `"level":"INFO","msg":"tool_invocation_cancelled"`},
		"cancelled, without cause": {given, Invalid("x", "type", "x"), false, `"level":"INFO","msg":"tool_invocation_cancelled"`},
		"a bug meanwhile":          {given, Internal(errors.New("panic: nil")), false, `"level":"ERROR","msg":"tool_invocation_failed"`},
		"a success meanwhile":      {given, nil, false, `"level":"INFO","msg":"tool_invocation_completed"`},
		"too late":                 {late, Internal(context.DeadlineExceeded), false, `"level":"ERROR","msg":"tool_invocation_failed"`},
		"failed":                   {t.Context(), Internal(context.Canceled), false, `"level":"ERROR","msg":"tool_invocation_failed"`},
	} {
		var buf bytes.Buffer
		call := NewCall("tool", nil, slog.New(slog.NewJSONHandler(&buf, nil)))
		if tt.inBand {
			call.Failed()
		}
		call.Finish(tt.ctx, tt.failure)
		require.Contains(t, buf.String(), tt.want, name)
	}
}

func TestEncodeKeepsMarkup(t *testing.T) {
	t.Parallel()
	got, err := Encode(map[string]string{"a": "<b>&"})
	require.NoError(t, err)
	require.Equal(t, `{"a":"<b>&"}`, string(got))
}
