package auth

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/auth/internal/grant"
)

// inspectGrants checks the lists in the metadata of the authorization server. A missing list is no
// error.
func (s *site) inspectGrants(r *rules) {
	m := s.server
	help := s.orDevice("its operator must allow logins with a browser (the authorization code flow)")
	if listed := m.ResponseTypesSupported; len(listed) > 0 {
		r.check("it supports the response type code (RFC 8414 §2)", strings.Join(listed, ", "),
			unless(slices.Contains(listed, "code"), "the authorization server lists only the response types %s", strings.Join(listed, ", ")), help)
	}
	if listed := m.GrantTypesSupported; len(listed) > 0 {
		r.check("it supports the grant authorization_code (RFC 8414 §2)", strings.Join(listed, " "),
			unless(slices.Contains(listed, "authorization_code"), "the authorization server lists only the grants %s", strings.Join(listed, " ")), help)
		r.advise("it supports the grant refresh_token (RFC 8414 §2)", "",
			unless(slices.Contains(listed, "refresh_token"), "it is not listed"), "expect to log in again whenever the token has expired")
	}
	switch {
	case m.PushRequired:
		r.check("it demands pushed authorization requests, and has an endpoint for them (RFC 9126 §5)", m.PushEndpoint, s.pushes(), helpPush)
	case m.PushEndpoint != "":
		r.check("it has an endpoint for pushed authorization requests, which is used (RFC 9126 §5)", m.PushEndpoint, nil, "")
	}
	if m.DeviceEndpoint != "" {
		r.check("people can log in on another device (RFC 8628 §4)", m.DeviceEndpoint, nil, "")
	}
	if listed := m.TokenEndpointAuthMethods; len(listed) > 0 {
		r.check("this program can authenticate itself at its token endpoint (RFC 8414 §2)", strings.Join(listed, " "), s.authenticates(), helpNoMethod)
	}
}

// orDevice returns the help for a login with a browser that fails: [Device], if the server has it.
func (s *site) orDevice(help string) string {
	if s.server.DeviceEndpoint != "" {
		return "log in on another device, with Device"
	}
	return help
}

// inspectBearer checks whether the MCP server accepts tokens in the Authorization header.
func (s *site) inspectBearer(r *rules) {
	if s.cfg.dpop || s.resource == nil || !s.resource.BearerMethodsKnown {
		return // DPoP tokens are not Bearer tokens
	}
	listed := s.resource.BearerMethods
	r.check("the server takes Bearer tokens in the Authorization header (RFC 9728 §2, required by MCP)", strings.Join(listed, " "),
		unless(slices.Contains(listed, "header"), "the server lists other ways to send Bearer tokens: %s", cmp.Or(strings.Join(listed, " "), "none")), "its operator must allow it: clients of MCP send tokens nowhere else")
}

// inspectDPoP checks whether tokens can be bound to a key, if that is wanted.
func (s *site) inspectDPoP(r *rules) {
	offered, demanded := s.server.DPoPAlgs, s.resource != nil && s.resource.DPoPRequired
	if !demanded && !s.cfg.dpop {
		return
	}
	if demanded {
		r.check("tokens are bound to a key, which the server demands (RFC 9728 §2, RFC 9449)", "", unless(s.cfg.dpop, "the server takes only tokens that are bound to a key"), "log in with WithDPoP")
	}
	alg := ""
	if p, err := grant.NewProver(); err == nil {
		alg = p.Algorithm()
	}
	r.check("the authorization server binds tokens to keys with "+alg+" (RFC 9449 §5.1)", strings.Join(offered, " "),
		unless(slices.Contains(offered, alg), "the authorization server does not bind tokens to keys with %s", alg), "its operator must support it, or the MCP server must not demand it")
	if s.resource == nil {
		return
	}
	switch taken := s.resource.DPoPAlgs; {
	case len(taken) > 0:
		r.check("the server takes proofs that are signed with "+alg+" (RFC 9728 §2)", strings.Join(taken, " "),
			unless(slices.Contains(taken, alg), "the server takes only proofs that are signed with %s", strings.Join(taken, " ")), "its operator must support it, or leave out WithDPoP")
	case !demanded:
		r.advise("the server says that it takes tokens that are bound to a key (RFC 9728 §2)", "",
			errors.New("its metadata has no dpop_signing_alg_values_supported"), "a server that takes only Bearer tokens refuses the token of such a login: ask its operator, or leave out WithDPoP")
	}
}
