package auth

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
	"github.com/mainstay-mcp/mainstay/auth/internal/loopback"
)

// Device is [Login] for programs on a machine without a browser, for example over SSH. The person
// opens a page on any device, types a code there and logs in (RFC 8628). The function of [WithPrompt]
// shows both; by default they are printed on stderr. The program asks the authorization server every
// few seconds until the person has agreed, the code expires, or the time of [WithLoginTime] is over.
//
// The authorization server must have a device authorization endpoint. Otherwise use [HandOff].
//
// # Experimental
//
// The fields of Prompt for a code may still change.
func Device(opts ...Option) *Authorizer {
	return newAuthorizer(func(c *config) source { return &device{cfg: c} }, opts)
}

// device is the grant of [Device].
type device struct{ cfg *config }

func (*device) person() bool { return true }

var errCodeExpired = errors.New("the code has expired before anybody logged in")

// obtain implements source.
func (d *device) obtain(ctx context.Context, s *site, scopes []string) (*credentials, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, d.cfg.patience, errNobody)
	defer cancel()
	if s.server.DeviceEndpoint == "" {
		return nil, newError(ReasonDiscovery, "log in with a browser, with Login or HandOff", fmt.Errorf("the authorization server %s lets nobody log in on another device", s.server.Issuer))
	}
	if err := s.authenticates(); err != nil {
		return nil, newError(ReasonRegistration, helpNoMethod, err)
	}
	h, err := newCredentials(s)
	if err != nil {
		return nil, err
	}
	if h.record.Client, err = d.registration(ctx, s); err != nil {
		return nil, err
	}
	h.key = s.key(h.record.Client.ClientID)
	who := d.cfg.client(h.record)
	code, err := s.tokens(h.prover).Device(ctx, who, s.server.DeviceEndpoint, s.params(scopes))
	if err != nil {
		help := d.cfg.forgetIfUnknown(ctx, h, err)
		if help == "" {
			help = helpRefused(err)
		}
		return nil, newError(ReasonLogin, help, fmt.Errorf("the authorization server gave no code: %w", err))
	}
	if !code.Expiry.IsZero() {
		var expire context.CancelFunc
		ctx, expire = context.WithDeadlineCause(ctx, code.Expiry, errCodeExpired)
		defer expire()
	}
	s.begun()
	s.announce()
	token, err := d.wait(ctx, s, h, who, code)
	if err != nil {
		return nil, d.failed(ctx, h, code, err)
	}
	h.obtained(token, who)
	h.record.Login = loopback.NewState() // each login is unique
	return h, nil
}

// wait prompts the person and waits for the token.
func (d *device) wait(ctx context.Context, s *site, h *credentials, who *grant.Client, code *grant.DeviceCode) (*grant.Token, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	failed := make(chan error, 1)
	go prompting(ctx, d.cfg.prompt, Prompt{
		Server: shown(s.endpoint), Issuer: s.server.Issuer, Expires: code.Expiry,
		URL: code.URL, UserCode: code.UserCode, URLWithCode: code.Complete,
		Paste: func(string) error { return errors.New("this login takes no address: type the code at the page") },
	}, failed)
	type answer struct {
		token *grant.Token
		err   error
	}
	came := make(chan answer, 1)
	go func() {
		token, err := s.tokens(h.prover).DeviceToken(ctx, who, code, s.params(nil)) // the code has the scopes
		came <- answer{token, err}
	}()
	select {
	case a := <-came:
		return a.token, a.err
	case err := <-failed:
		stop()
		<-came
		return nil, err
	}
}

// failed explains why a login on another device failed.
func (d *device) failed(ctx context.Context, h *credentials, code *grant.DeviceCode, err error) error {
	var refused *grant.Error
	switch {
	case ctx.Err() != nil, !errors.As(err, &refused):
		e := &Error{Reason: ReasonLogin, LoginURL: code.URL, Err: err}
		if errors.Is(err, errNobody) || errors.Is(err, errCodeExpired) {
			e.Help = "begin the login again, and type the new code while the program waits"
		}
		return e
	case refused.Code == "expired_token":
		return newError(ReasonLogin, "begin the login again, and type the new code while the program waits", fmt.Errorf("%w: %w", errCodeExpired, err))
	case refused.Code == "access_denied":
		return newError(ReasonLogin, helpDenied, err)
	}
	return newError(ReasonToken, d.cfg.forgetIfUnknown(ctx, h, err), err)
}

// registration returns the client of this program at the authorization server.
func (d *device) registration(ctx context.Context, s *site) (grant.Registered, error) {
	cfg := d.cfg
	switch {
	case cfg.clientID != "":
		return grant.Registered{ClientID: cfg.clientID, ClientSecret: grant.Hide(cfg.clientSecret), Method: cfg.method(ctx, s)}, nil
	case s.metadataClient():
		return grant.Registered{ClientID: cfg.metadataURL, Method: grant.MethodNone}, nil
	}
	known, err := cfg.knownWhere(ctx, s, func(r grant.Registered) bool { return slices.Contains(r.GrantTypes, grant.DeviceCodeGrant) })
	if err != nil {
		return grant.Registered{}, newError(ReasonStore, "", err)
	}
	if known.ClientID != "" {
		return known, nil
	}
	request := cfg.registration("")
	request.RedirectURIs, request.ResponseTypes = nil, nil // RFC 7591 section 2: they are for redirects
	request.GrantTypes = []string{grant.DeviceCodeGrant, "refresh_token"}
	return s.register(ctx, request)
}
