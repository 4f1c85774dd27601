package errormap_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/breaker"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// An open circuit is E201 with the seed's text, and nothing was sent.
func TestAC_006_3_OpenCircuitIsE201(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := breaker.New(breaker.Settings{Name: "db", FailureThreshold: 1})
		p, err := b.Acquire()
		require.NoError(t, err)
		p.Settle(breaker.Failure)
		time.Sleep(10 * time.Second)
		_, err = b.Acquire()
		e := errormap.From(err, mcperrors.Unknown)
		require.Equal(t, mapped{"E201", mcperrors.KindCircuitOpen, "The server is unavailable", again, true, mcperrors.NotSent}, summary(e))
		require.Equal(t, "Service temporarily unavailable (circuit open)", e.Message)
		require.Equal(t, "Service temporarily unavailable (circuit open) (server db); try again in 20s", e.Error())
		require.Equal(t, 20*time.Second, e.RetryAfter)
		require.ErrorIs(t, e, mcperrors.ErrCircuitOpen)
		require.ErrorIs(t, e, breaker.ErrOpen)
		require.Nil(t, e.OriginalMCPCode)
		require.True(t, mcperrors.SafeToRetry(e))

		// The bare error has the same properties.
		require.Equal(t, mcperrors.KindCircuitOpen, mcperrors.KindOf(err))
		require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		require.Equal(t, 20*time.Second, mcperrors.RetryAfter(err))
		require.True(t, mcperrors.Retryable(err))
	})
}

type slowError struct{}

func (slowError) Error() string   { return "i/o timeout" }
func (slowError) Timeout() bool   { return true }
func (slowError) Temporary() bool { return true }

// The mapping of Go errors, including truncated JSON.
func TestFrom(t *testing.T) {
	t.Parallel()
	_, truncated := jsonrpc.Decode([]byte(`{"jsonrpc":"2.0","id":1,"resu`))
	require.Error(t, truncated)
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	for _, tt := range []struct {
		name     string
		err      error
		code     mcperrors.Code
		kind     mcperrors.Kind
		delivery mcperrors.Delivery
		is       error
	}{
		{"refused", refused, "E201", mcperrors.KindTransport, mcperrors.Unknown, syscall.ECONNREFUSED},
		{"end of stream", io.ErrUnexpectedEOF, "E201", mcperrors.KindTransport, mcperrors.Unknown, io.ErrUnexpectedEOF},
		{"cancelled", fmt.Errorf("call: %w", context.Canceled), "", mcperrors.KindCanceled, mcperrors.Unknown, context.Canceled},
		{"deadline", context.DeadlineExceeded, "E202", mcperrors.KindTimeout, mcperrors.Unknown, context.DeadlineExceeded},
		{"deadline of a file", os.ErrDeadlineExceeded, "E202", mcperrors.KindTimeout, mcperrors.Unknown, context.DeadlineExceeded},
		{"timeout of the network", &net.OpError{Op: "read", Err: slowError{}}, "E202", mcperrors.KindTimeout, mcperrors.Unknown, context.DeadlineExceeded},
		{"idle", &jsonrpc.CallError{Err: jsonrpc.ErrIdle}, "E202", mcperrors.KindTimeout, mcperrors.Unknown, jsonrpc.ErrIdle},
		{"longest wait, not sent", &jsonrpc.CallError{NotSent: true, Err: jsonrpc.ErrMaxWait}, "E202", mcperrors.KindTimeout, mcperrors.NotSent, context.DeadlineExceeded},
		{"closed", &jsonrpc.CallError{Err: jsonrpc.ErrClosed}, "E201", mcperrors.KindClosed, mcperrors.Unknown, mcperrors.ErrClosed},
		{"truncated", truncated, "E203", mcperrors.KindProtocol, mcperrors.Unknown, jsonrpc.ErrInvalid},
		{"answer", fmt.Errorf("x: %w", &jsonrpc.Error{Code: -32603}), "E201", mcperrors.KindServer, mcperrors.Answered, &jsonrpc.Error{Code: -32603}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e := errormap.From(tt.err, mcperrors.Unknown)
			require.Equal(t, tt.code, e.Code)
			require.Equal(t, tt.kind, e.Kind)
			require.Equal(t, tt.delivery, e.Delivery)
			require.ErrorIs(t, e, tt.is)
			require.ErrorIs(t, e, tt.err)
			require.Equal(t, e.Kind == mcperrors.KindCanceled, errors.Is(e, context.Canceled))
			require.Equal(t, e.Kind == mcperrors.KindTimeout, errors.Is(e, context.DeadlineExceeded))
			require.Same(t, e, errormap.From(e, mcperrors.NotSent), "mapping twice changes nothing")
			require.Same(t, e, errormap.From(fmt.Errorf("outer: %w", e), mcperrors.NotSent))
		})
	}
	require.Nil(t, errormap.From(nil, mcperrors.Unknown))
}

func TestContextErrorsWithoutACause(t *testing.T) {
	t.Parallel()
	canceled := errormap.Canceled(mcperrors.Unknown, nil)
	require.ErrorIs(t, canceled, context.Canceled)
	require.NotErrorIs(t, canceled, context.DeadlineExceeded)
	require.Empty(t, canceled.Code)
	require.False(t, canceled.Retryable)
	timeout := errormap.Timeout(mcperrors.Unknown, "no answer", 3*time.Second, nil)
	require.ErrorIs(t, timeout, context.DeadlineExceeded)
	require.NotErrorIs(t, timeout, context.Canceled)
	require.Equal(t, "no answer within 3s; the call may have run: check before repeating it", timeout.Error())
	late := errormap.Timeout(mcperrors.NotSent, "no answer", 2*time.Second-27*time.Microsecond, nil)
	require.Equal(t, "no answer within 2s", late.Message, "what is left of a deadline is rounded")
	server := errormap.FromRPC(&jsonrpc.Error{Code: -32001}, errormap.Options{Profile: mcperrors.Docling})
	require.Equal(t, mcperrors.KindTimeout, server.Kind)
	require.NotErrorIs(t, server, context.DeadlineExceeded, "the server's deadline is not ours")
}

// The mapping of HTTP statuses.
func TestFromHTTP(t *testing.T) {
	t.Parallel()
	const (
		rejected = mcperrors.Rejected
		unknown  = mcperrors.Unknown
	)
	for _, tt := range []struct {
		status    int
		code      mcperrors.Code
		kind      mcperrors.Kind
		retryable bool
		delivery  mcperrors.Delivery
	}{
		{200, "E203", mcperrors.KindProtocol, false, unknown},
		{302, "E203", mcperrors.KindProtocol, false, unknown},
		{400, "E203", mcperrors.KindProtocol, false, unknown},
		{401, "E208", mcperrors.KindAuth, false, rejected},
		{403, "E208", mcperrors.KindAuth, false, rejected},
		{404, "E201", mcperrors.KindTransport, false, rejected},
		{405, "E201", mcperrors.KindTransport, false, rejected},
		{406, "E203", mcperrors.KindProtocol, false, rejected},
		{408, "E202", mcperrors.KindServer, true, unknown},
		{409, "E203", mcperrors.KindProtocol, false, unknown},
		{410, "E201", mcperrors.KindTransport, false, unknown},
		{413, "E203", mcperrors.KindProtocol, false, rejected},
		{415, "E203", mcperrors.KindProtocol, false, rejected},
		{421, "E201", mcperrors.KindTransport, false, rejected},
		{422, "E203", mcperrors.KindProtocol, false, unknown},
		{425, "E201", mcperrors.KindServer, true, rejected},
		{429, "E601", mcperrors.KindOverloaded, true, rejected},
		{500, "E201", mcperrors.KindServer, true, unknown},
		{501, "E209", mcperrors.KindUnsupported, false, unknown},
		{502, "E201", mcperrors.KindServer, true, unknown},
		{503, "E201", mcperrors.KindServer, true, unknown},
		{504, "E201", mcperrors.KindServer, true, unknown},
		{505, "E209", mcperrors.KindUnsupported, false, unknown},
		{599, "E201", mcperrors.KindServer, true, unknown},
	} {
		e := errormap.FromHTTP(mcperrors.HTTPEvidence{Status: tt.status, Body: "<html>"}, 2*time.Second)
		require.Equal(t, tt.code, e.Code, tt.status)
		require.Equal(t, tt.kind, e.Kind, tt.status)
		require.Equal(t, tt.retryable, e.Retryable, tt.status)
		require.Equal(t, tt.delivery, e.Delivery, tt.status)
		require.Equal(t, tt.status, e.HTTP.Status)
		require.Equal(t, tt.retryable, e.RetryAfter == 2*time.Second, tt.status)
	}
	require.Zero(t, errormap.FromHTTP(mcperrors.HTTPEvidence{Status: http.StatusServiceUnavailable}, -time.Second).RetryAfter)
}

func TestQuestionsAboutForeignErrors(t *testing.T) {
	t.Parallel()
	for _, err := range []error{nil, io.EOF} {
		require.Zero(t, mcperrors.KindOf(err))
		require.Empty(t, mcperrors.CodeOf(err))
		require.False(t, mcperrors.SafeToRetry(err))
		require.False(t, mcperrors.Retryable(err))
		require.Zero(t, mcperrors.RetryAfter(err))
		require.False(t, mcperrors.IsNotFound(err))
		require.False(t, mcperrors.FromPeer(err))
	}
	require.Equal(t, mcperrors.Unknown, mcperrors.DeliveryOf(io.EOF))
	require.Equal(t, mcperrors.KindCanceled, mcperrors.KindOf(context.Canceled))
	require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(context.DeadlineExceeded))
	require.True(t, mcperrors.FromPeer(&jsonrpc.Error{Code: 1}))
	require.False(t, mcperrors.FromPeer(errormap.From(io.EOF, mcperrors.Unknown)))
	e := mcperrors.New(mcperrors.CodeRateLimited, mcperrors.KindOverloaded, mcperrors.Rejected, "m", nil)
	e.RetryAfter = time.Second
	wrapped := fmt.Errorf("outer: %w", e)
	require.Equal(t, mcperrors.CodeRateLimited, mcperrors.CodeOf(wrapped))
	require.True(t, mcperrors.SafeToRetry(wrapped))
	require.True(t, mcperrors.Retryable(wrapped))
	require.Equal(t, time.Second, mcperrors.RetryAfter(wrapped))
	require.Equal(t, mcperrors.Rejected, mcperrors.DeliveryOf(wrapped))
}
