package outcome

import (
	"context"
	"errors"
	"io/fs"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/internal/resilience"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// row has the meaning of a transport's Reason: the class of the attempt, and the error of the
// request.
type row struct {
	class resilience.Class
	code  mcperrors.Code
	kind  mcperrors.Kind
	// text is a prefix for the text of the cause.
	text string
	// classify and make replace the columns if they depend on more than the reason.
	classify func(f *transport.Failure) resilience.Class
	make     func(f *transport.Failure, d mcperrors.Delivery) *mcperrors.Error
}

// reasons is the only place where failures of transports become classes and errors.
var reasons = [...]row{
	transport.ReasonCanceled:    {class: resilience.ClassCanceled, make: canceled},
	transport.ReasonTimeout:     {class: resilience.ClassTimeout, make: timedOut},
	transport.ReasonUnavailable: {classify: unavailableClass, make: unavailable},
	transport.ReasonLost:        {classify: lostClass, make: lost},
	transport.ReasonClosed:      {class: resilience.ClassLocal, make: closed},
	transport.ReasonStatus:      {classify: statusClass, make: byStatus},
	transport.ReasonSession:     {class: resilience.ClassSessionLost, make: sessionLost},
	transport.ReasonProtocol:    {class: resilience.ClassBrokenResult, code: mcperrors.CodeInvalidRequest, kind: mcperrors.KindProtocol},
	transport.ReasonTooLarge:    {class: resilience.ClassTooLarge, make: tooLarge},
	transport.ReasonConfig:      {classify: configClass, make: misconfigured},
	transport.ReasonOption:      {class: resilience.ClassRefused, code: mcperrors.CodeInvalidRequest, kind: mcperrors.KindInvalidArguments},
	transport.ReasonNotMCP:      {class: resilience.ClassNotMCP, code: mcperrors.CodeInvalidRequest, kind: mcperrors.KindProtocol},
	transport.ReasonUnprocessed: {class: resilience.ClassUnprocessed, code: mcperrors.CodeUnavailable, kind: mcperrors.KindTransport, text: "the server did not process the request: "},
	transport.ReasonNoRoom:      {class: resilience.ClassTooLarge, make: noRoom},
	transport.ReasonCallback:    {class: resilience.ClassLocal, make: callbackFailed},

	transport.ReasonAuthorization: {classify: authorizationClass, make: unauthorized},
}

// unknown is the row of a reason that is not in the table.
var unknown = row{class: resilience.ClassNone, code: mcperrors.CodeInvalidRequest, kind: mcperrors.KindProtocol}

func rowOf(f *transport.Failure) *row {
	if f.Reason == 0 || int(f.Reason) >= len(reasons) {
		return &unknown
	}
	return &reasons[f.Reason]
}

// ClassOf returns the class of a failure for circuits and retries.
func ClassOf(f *transport.Failure) resilience.Class {
	r := rowOf(f)
	if r.classify != nil {
		return r.classify(f)
	}
	return r.class
}

// authorizationClass returns the class of a request without credentials. If it was not sent, it
// is no evidence about the server.
func authorizationClass(f *transport.Failure) resilience.Class {
	if f.NotSent {
		return resilience.ClassLocal
	}
	return resilience.ClassUnauthorized
}

// unauthorized returns the error of a request without credentials. The Authorizer may know when a
// retry can succeed.
func unauthorized(f *transport.Failure, d mcperrors.Delivery) *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodePermissionDenied, mcperrors.KindAuth, d, f.Err.Error(), f)
	var later interface{ RetryAfter() time.Duration }
	if errors.As(f.Err, &later) {
		e.RetryAfter = max(later.RetryAfter(), 0)
	}
	return e
}

// Lost reports whether the connection ended before the answer, perhaps with the program.
func Lost(f *transport.Failure) bool {
	class := ClassOf(f)
	return class == resilience.ClassLost || class == resilience.ClassExited
}

// FailureOf returns the failure in err. If an application's transport returns another error, the
// request may have arrived.
func FailureOf(err error) *transport.Failure {
	var f *transport.Failure
	if errors.As(err, &f) {
		return f
	}
	return &transport.Failure{Reason: transport.ReasonLost, Err: err}
}

// RPCOf returns the server's JSON-RPC error in err, nil if there is none.
func RPCOf(err error) *jsonrpc.Error {
	var rpc *jsonrpc.Error
	errors.As(err, &rpc)
	return rpc
}

// Delivered returns the delivery of a failed request.
func Delivered(f *transport.Failure) mcperrors.Delivery {
	switch {
	case f.NotSent:
		return mcperrors.NotSent
	case f.Rejected:
		return mcperrors.Rejected
	case f.Answered:
		return mcperrors.Answered
	}
	return mcperrors.Unknown
}

// ErrorOf returns the error of a failure without a request.
func ErrorOf(f *transport.Failure) *mcperrors.Error {
	r, d := rowOf(f), Delivered(f)
	var e *mcperrors.Error
	if r.make != nil {
		e = r.make(f, d)
	} else {
		e = mcperrors.New(r.code, r.kind, d, r.text+f.Err.Error(), f)
	}
	e.Process = f.Process
	if e.HTTP == nil {
		e.HTTP = f.HTTP
	}
	return e
}

// errorOf returns the error of a request that failed.
func (s *Sent) errorOf(f *transport.Failure) *mcperrors.Error {
	e := ErrorOf(f)
	switch {
	case f.Reason == transport.ReasonCanceled && errors.Is(f.Err, jsonrpc.ErrMaxWait):
		return errormap.Unasked(s.Wait.Max, f.Err)
	case ClassOf(f) == resilience.ClassTimeout:
		timeout := s.overdue(e.Delivery, f.Err)
		timeout.Process, timeout.HTTP = e.Process, e.HTTP
		return timeout
	case s.HasEnded(f):
		Ended(e)
	}
	return e
}

// overdue returns the error of a request whose idle timeout or maximum time is over. For an idle
// timeout of an application's request, the message names the options that raise it: the default
// does not suit tools that work for minutes and report no progress.
func (s *Sent) overdue(d mcperrors.Delivery, cause error) *mcperrors.Error {
	if errors.Is(cause, jsonrpc.ErrMaxWait) {
		return errormap.Timeout(d, "no answer", s.Wait.Max, cause)
	}
	what := "no answer"
	if s.Method == mcp.MethodToolsCall {
		what = "no answer and no progress" // which tools/call asks for
	}
	e := errormap.Timeout(d, what, s.Wait.Idle, cause)
	own := s.Method == mcp.MethodInitialize || s.Method == mcp.MethodDiscover || s.Method == mcp.MethodPing
	if s.Wait.Idle > 0 && !own {
		e.Message += "; raise Resilience.IdleTimeout, or WithTimeouts for one call"
	}
	return e
}

// HasEnded reports whether the program has exited and will not be restarted.
func (s *Sent) HasEnded(f *transport.Failure) bool {
	connecting := s.Method == mcp.MethodInitialize || s.Method == mcp.MethodDiscover
	return ClassOf(f) == resilience.ClassExited && f.NotSent && !connecting && !s.Restarts
}

// Ended changes e to the error of a client whose program is not restarted.
func Ended(e *mcperrors.Error) {
	e.Message = "the server has exited; close this client and connect again"
	e.Retryable, e.UserMessage, e.SuggestedAction = false, "The server has exited", "Connect again"
}

// final marks an error as permanent, with texts for the user.
func final(e *mcperrors.Error, user, action string) *mcperrors.Error {
	e.Retryable, e.UserMessage, e.SuggestedAction = false, user, action
	return e
}

// transportError returns the error of a connection, with a message for the end user.
func transportError(f *transport.Failure, d mcperrors.Delivery, message, user string) *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindTransport, d, message, f)
	e.UserMessage = user
	return e
}

func canceled(f *transport.Failure, d mcperrors.Delivery) *mcperrors.Error {
	if errors.Is(f.Err, context.DeadlineExceeded) {
		return errormap.Timeout(d, "no answer", 0, f.Err)
	}
	return errormap.Canceled(d, f.Err)
}

func timedOut(f *transport.Failure, d mcperrors.Delivery) *mcperrors.Error {
	return errormap.Timeout(d, "no answer", time.Duration(0), f.Err)
}

func unavailableClass(f *transport.Failure) resilience.Class {
	for _, ours := range []error{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL} {
		if errors.Is(f.Err, ours) { // the resource of this machine is used up
			return resilience.ClassExhausted
		}
	}
	return resilience.ClassUnavailable
}

// absent reports whether no process listens at the server's address, or its process has just
// gone with its connections.
func absent(f *transport.Failure) bool {
	if !f.NotSent || f.Reason != transport.ReasonUnavailable {
		return false
	}
	var number syscall.Errno
	return errors.Is(f.Err, syscall.ECONNREFUSED) || errors.Is(f.Err, syscall.ECONNRESET) || errors.Is(f.Err, syscall.EPIPE) ||
		runtime.GOOS == "windows" && errors.As(f.Err, &number) && number == connRefusedWindows
}

// connRefusedWindows is WSAECONNREFUSED, which differs from syscall.ECONNREFUSED.
const connRefusedWindows syscall.Errno = 10061

// unavailable returns the error of a server that was not reached. A program that is missing or
// not executable is a permanent failure.
func unavailable(f *transport.Failure, d mcperrors.Delivery) *mcperrors.Error {
	if f.Process == nil {
		return transportError(f, d, "the server cannot be reached: "+f.Err.Error(), "The server cannot be reached")
	}
	program := "The program"
	if command := f.Process.Command; len(command) > 0 {
		program += " " + jsonrpc.Printable(filepath.Base(command[0]), 80)
	}
	e := transportError(f, d, "the program cannot be started: "+f.Err.Error(), program+" could not be started")
	for _, lasting := range []error{exec.ErrNotFound, fs.ErrNotExist, fs.ErrPermission} {
		if errors.Is(f.Err, lasting) {
			e.Message += "; check the command"
			return final(e, e.UserMessage, "Check the command")
		}
	}
	return e
}

func lostClass(f *transport.Failure) resilience.Class {
	if f.Process != nil && f.Process.Exited {
		return resilience.ClassExited
	}
	return resilience.ClassLost
}

func lost(f *transport.Failure, d mcperrors.Delivery) *mcperrors.Error {
	text := "the connection was lost before the answer: "
	switch {
	case f.Process != nil && f.Process.Exited:
		return transportError(f, d, "the server stopped before it answered", "The server stopped before it answered")
	case f.NotSent:
		text = "the connection was lost: "
	}
	return transportError(f, d, text+f.Err.Error(), "The connection to the server was lost")
}

func closed(f *transport.Failure, d mcperrors.Delivery) *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodeUnavailable, mcperrors.KindClosed, d, "the client was closed", f)
	return final(e, "The client is closed", "Connect again")
}

// sessionLost returns the error of a lost session. The next call opens another session, so the
// error is retryable for any delivery.
func sessionLost(f *transport.Failure, d mcperrors.Delivery) *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodeSessionExpired, mcperrors.KindSessionLost, d, f.Err.Error(), f)
	e.Retryable, e.SuggestedAction = true, "Try again"
	return e
}

func statusClass(f *transport.Failure) resilience.Class { return resilience.OfStatus(f.HTTP.Status) }

func byStatus(f *transport.Failure, d mcperrors.Delivery) *mcperrors.Error {
	e := errormap.FromHTTP(*f.HTTP, f.RetryAfter)
	e.Delivery, e.Cause = d, f
	return e
}

func tooLarge(f *transport.Failure, d mcperrors.Delivery) *mcperrors.Error {
	return errormap.TooLarge(d, f.Err.Error(), f)
}

func configClass(f *transport.Failure) resilience.Class {
	if f.HTTP == nil { // a certificate, not a redirect
		return resilience.ClassCertificate
	}
	return resilience.ClassRefused
}

// misconfigured returns the error of a certificate or a redirect that is not accepted.
func misconfigured(f *transport.Failure, d mcperrors.Delivery) *mcperrors.Error {
	return final(transportError(f, d, f.Err.Error(), ""), "The server cannot be used at this address", "Check the URL and the certificate")
}

func noRoom(f *transport.Failure, d mcperrors.Delivery) *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodeIncompatible, mcperrors.KindOverloaded, d, f.Err.Error(), f)
	e.UserMessage, e.SuggestedAction = "Too many large answers at once", "Make fewer such calls at once, or raise MemoryBytes in WithServerLimits"
	return e
}

func callbackFailed(f *transport.Failure, d mcperrors.Delivery) *mcperrors.Error {
	return CallbackFailed(f.Err, d)
}

// CallbackFailed returns the error of a call whose callback in the application failed.
func CallbackFailed(cause error, d mcperrors.Delivery) *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindApp, d, cause.Error(), cause)
	e.UserMessage, e.SuggestedAction = "A function of the application failed", "Fix the function; the log has its stack"
	return e
}

// InvalidArguments returns the error of a call that was not sent because of its arguments.
func InvalidArguments(cause error) *mcperrors.Error {
	return mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindInvalidArguments, mcperrors.NotSent, cause.Error(), cause)
}
