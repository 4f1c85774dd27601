// Package store keeps tokens, and the data to refresh them, in memory or in files. One program at a
// time can change a record. A program refreshes a token under this lock.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// ErrNotFound reports that there is no record for a key.
var ErrNotFound = errors.New("no stored token")

// Key identifies the owner of the tokens of a record. Tokens are never used for another issuer,
// another principal or another URL.
type Key struct {
	Server    string `json:"server,omitempty"` // the URL of the MCP server
	Issuer    string `json:"issuer"`
	Resource  string `json:"resource"`
	ClientID  string `json:"client_id"`
	Principal string `json:"principal,omitempty"`
}

// Store keeps records by key. It is safe for concurrent use.
type Store interface {
	// Load returns the record of a key, or ErrNotFound. It does not wait for an Update.
	Load(ctx context.Context, key Key) (Record, error)

	// Update replaces the record of a key with the result of change. If there is no record, change
	// gets the zero Record. No other Update or Delete of the key runs meanwhile, in any process
	// that shares the store. Update waits for its turn until ctx is done. change may take long, as a
	// refresh does; it must not call Update or Delete for the same key.
	//
	// If Update returns nil, the new record is written, even if ctx has ended. If change fails,
	// Update writes nothing and returns its error. If change returns its argument, Update writes
	// nothing. The store increments Generation; the value that change returns is ignored.
	Update(ctx context.Context, key Key, change func(Record) (Record, error)) error

	// Delete removes the record of a key after a running Update. The record need not exist.
	Delete(ctx context.Context, key Key) error

	// List returns the keys of all records, sorted. A store that can read only some of them
	// returns those and an error.
	List(ctx context.Context) ([]Key, error)
}

// Record is the value of a key. It hides its secrets in every fmt verb, in log/slog and in JSON,
// also in unexported fields, where fmt calls no methods. A store writes it with [Record.Encode].
type Record struct {
	Token  grant.Token
	Client grant.Registered // ID and, after dynamic registration, secret
	Server Server
	Scopes []string     // requested so far: a step-up requests these and the new ones
	Proof  grant.Secret // private key of DPoP that the tokens are bound to (PKCS #8); empty: none

	// Ended is the error code with which the authorization server ended the login, "" if the
	// login has not ended.
	Ended string

	Login    string    // identifies the login of the tokens; a renewal keeps it
	Obtained time.Time // when the token was issued; zero: unknown

	// Pending is a login that another run of the program finishes, nil for none.
	Pending *Pending

	// Refused has when logins failed, by the URL of the MCP server. Only a record that is the
	// lock of logins at an authorization server has it.
	Refused map[string]time.Time

	Generation uint64 // counts the writes of this record
}

// Server is the data of an authorization server that a refresh or a revocation needs, so that it
// works without discovery.
type Server struct {
	TokenURL         string   `json:"token_url"`
	RevocationURL    string   `json:"revocation_url,omitempty"`
	TokenAuthMethods []string `json:"token_auth_methods,omitempty"`
	TokenAuthAlgs    []string `json:"token_auth_algs,omitempty"`
	// Resource is the resource parameter of the token requests, "" for none.
	Resource string `json:"resource,omitempty"`
	// Metadata is the URL of the resource metadata that led to the token requests, "" for
	// none.
	Metadata string `json:"resource_metadata,omitempty"`
	// PrivateNetwork is set if the server may have a private address.
	PrivateNetwork bool `json:"private_network,omitempty"`
}

// String describes the record without its secrets.
func (r Record) String() string {
	s := fmt.Sprintf("record %d: %v of %v at %q", r.Generation, r.Token, r.Client, r.Server.TokenURL)
	if !r.Proof.Empty() {
		s += ", bound to a DPoP key"
	}
	return s
}

// GoString is String, so that %#v shows no secrets either.
func (r Record) GoString() string { return r.String() }

// Format writes String for every verb.
func (r Record) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(r.String())) }

// LogValue implements [slog.LogValuer] with String.
func (r Record) LogValue() slog.Value { return slog.StringValue(r.String()) }

// MarshalText writes String: only Encode writes the secrets.
func (r Record) MarshalText() ([]byte, error) { return []byte(r.String()), nil }
