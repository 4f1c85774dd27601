package core

import (
	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/errormap"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// Errors completes the errors of one client: it says what they are about, and hides
// secrets. Its methods may be called from many goroutines at once.
type Errors struct {
	// Server is the name of the server.
	Server  string
	Secrets Redactor
}

// About adds to an error which call it is about.
func (x *Errors) About(s outcome.Subject, e *mcperrors.Error) *mcperrors.Error {
	e.Server, e.Method, e.Tool, e.Attempts = x.Server, s.Method, s.Tool, s.Attempts
	if !s.ID.IsZero() {
		e.RequestID = s.ID.String()
	}
	return x.Secrets.Error(e)
}

// Refusal is About for an error that may be nil.
func (x *Errors) Refusal(s outcome.Subject, e *mcperrors.Error) error {
	if e == nil {
		return nil
	}
	return x.About(s, e)
}

// Local makes the error of a call that ended before, or without, a request.
func (x *Errors) Local(err error, method string) error {
	e := errormap.From(err, mcperrors.NotSent)
	e.Server, e.Method = x.Server, method
	return x.Secrets.Error(e)
}

// Undecodable makes the error of a result that does not follow the protocol.
func (x *Errors) Undecodable(s outcome.Subject, err error) error {
	return x.About(s, mcperrors.New(mcperrors.CodeInvalidRequest, mcperrors.KindProtocol, mcperrors.Answered,
		"the result of "+s.Method+" does not follow the protocol: "+jsonrpc.Printable(err.Error(), 300), err))
}
