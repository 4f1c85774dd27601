package client

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/internal/outcome"
	"github.com/mainstay-mcp/mainstay/client/internal/run"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// RenewVersion implements [run.Client]: it takes the newest revision of the era that both
// sides speak. A server that lists the revision it refuses contradicts itself, so its
// refusal proves nothing: only requests that may run twice are sent again then.
func (s *callSupport) RenewVersion(r run.VersionRefusal) (again bool, _ error) {
	var data mcp.UnsupportedVersionData
	if mcp.Unmarshal(slices.Clone(outcome.RPCOf(r.Err).Data), &data) != nil {
		return false, nil //nolint:nilerr // the server's error says more
	}
	version, ok := mcp.Newest(data.Supported, mcp.EraStateless)
	proved := version != r.Sent && mcperrors.SafeToRetry(r.Err)
	if ok && !r.Before && (proved || r.Repeatable) {
		c := s.client()
		self := c.cfg.identity()
		err := self.Speak(&c.core.Links, version, c.subscriptions.Peek().Level())
		return err == nil, err
	}
	ours := slices.DeleteFunc(mcp.Versions(), func(v mcp.Version) bool { return v.Era() != mcp.EraStateless })
	return false, because(r.Err, &VersionError{Requested: r.Sent, Supported: ours, Listed: data.Supported})
}

// MissingCapabilityError reports that a server refused a request because it
// needs a capability that this client does not declare. It is the cause of an
// error with code E209. Register the handlers that provide it, and connect
// again.
type MissingCapabilityError struct {
	// Required are the capabilities that the request needs.
	Required mcp.ClientCapabilities
	// Names are the same as paths, such as "sampling" or "elicitation.url". At
	// most 20 are listed.
	Names []string
	more  int
}

// maxNames bounds the capabilities that an error lists.
const maxNames = 20

// Error lists the missing capabilities.
func (e *MissingCapabilityError) Error() string {
	text := "the server needs a client with " + strings.Join(e.Names, ", ")
	if e.more > 0 {
		text += fmt.Sprintf(" and %d more", e.more)
	}
	return text
}

// MissingCapability implements [run.Client]. Every request declares all capabilities of
// the client, so a retry could not declare more.
func (*callSupport) MissingCapability(err *mcperrors.Error) error {
	rpc := outcome.RPCOf(err)
	var data mcp.MissingCapabilityData
	if mcp.Unmarshal(slices.Clone(rpc.Data), &data) != nil {
		return nil //nolint:nilerr // the server's error says more
	}
	names, more := capabilityNames(rpc.Data)
	return because(err, &MissingCapabilityError{Required: data.RequiredCapabilities, Names: names, more: more})
}

// capabilityNames lists the capabilities in the data of error -32021 by their paths, and
// counts those beyond maxNames.
func capabilityNames(data []byte) (names []string, more int) {
	outcome.EachCapability(data, func(path string) bool {
		if len(names) == maxNames {
			more++
		} else {
			names = append(names, jsonrpc.Printable(path, 100))
		}
		return true
	})
	return names, more
}

// because adds to the error of a call why the client could not repair the call.
func because(err, cause error) error {
	var e *mcperrors.Error
	if !errors.As(err, &e) {
		return err
	}
	with := *e
	with.Cause = cause
	with.Message += ": " + cause.Error()
	return &with
}
