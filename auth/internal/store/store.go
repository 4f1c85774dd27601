// Package store keeps tokens, and what is needed to refresh them, in memory or in files. One
// program at a time may change a record: that is the lease under which a token is refreshed.
package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// ErrNotFound means that there is no record for a key.
var ErrNotFound = errors.New("no stored token")

// Key says whose tokens a record has: tokens of one issuer are never used for another, nor those
// of one principal by another, nor what was issued for one URL is offered to another.
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

	// Update replaces the record of a key with what change makes of it; without one, change gets
	// the zero Record. No other Update or Delete of the key runs meanwhile, in this process or in
	// another that has the same store. Update waits for its turn until ctx is done. change may take
	// long, as a refresh does; it must not call Update or Delete for the same key.
	//
	// The new record is safe when Update returns nil, even if ctx has ended by then. When change
	// fails, nothing is written and its error is returned. When change returns what it got,
	// nothing is written either. The store counts Generation up, whatever change does with it.
	Update(ctx context.Context, key Key, change func(Record) (Record, error)) error

	// Delete removes the record of a key once no Update has it. There may be none.
	Delete(ctx context.Context, key Key) error

	// List returns the keys of all records, sorted. A store that can read only some of them
	// returns those and an error.
	List(ctx context.Context) ([]Key, error)
}

// Record is what is kept for a key. It hides its secrets in every fmt verb, in log/slog and in
// JSON, also in an unexported field, where fmt calls none of its methods. A store writes it with
// [Record.Encode].
type Record struct {
	Token  grant.Token
	Client grant.Registered // ID and, after dynamic registration, secret
	Server Server
	Scopes []string     // asked for so far: a step-up asks for these and the new ones
	Proof  grant.Secret // private key of DPoP that the tokens are bound to (PKCS #8); empty: none

	// Ended is the error code with which the authorization server ended the login, "" if it
	// did not.
	Ended string

	Login    string    // a name for the login that the tokens go back to; renewing keeps it
	Obtained time.Time // when the token was issued; zero: unknown

	// Pending is a login that was begun and that another run of the program finishes; nil: none.
	Pending *Pending

	Generation uint64 // counts the writes of this record
}

// Server is what a refresh or a revocation needs to know of an authorization server, so that it
// needs no discovery.
type Server struct {
	TokenURL         string   `json:"token_url"`
	RevocationURL    string   `json:"revocation_url,omitempty"`
	TokenAuthMethods []string `json:"token_auth_methods,omitempty"`
	TokenAuthAlgs    []string `json:"token_auth_algs,omitempty"`
	// Resource is the resource parameter that tokens were asked for with, "" for none.
	Resource string `json:"resource,omitempty"`
	// Metadata is the URL of the resource metadata that the tokens were asked for by, ""
	// for none.
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
