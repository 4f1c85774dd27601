package main

import (
	"net/url"
	"strings"

	"github.com/spf13/pflag"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
)

// exceptions are the flags of a login that loosen the rules for one authorization server,
// that of --issuer.
type exceptions struct {
	withoutResource, assumePKCE bool
	params                      []string // NAME=VALUE
}

func (e *exceptions) register(set *pflag.FlagSet) {
	set.BoolVar(&e.withoutResource, "without-resource", false, "send no resource parameter to the server of --issuer")
	set.BoolVar(&e.assumePKCE, "assume-pkce", false, "assume that the server of --issuer supports PKCE without listing it")
	flags.Texts(set, &e.params, "authorize-param", "add this `NAME=VALUE` to the login page of the server of --issuer; no VALUE leaves it out")
}

// typed are the flags that were typed, each with its value.
func (e *exceptions) typed() [][]string {
	var typed [][]string
	if e.withoutResource {
		typed = append(typed, []string{"--without-resource"})
	}
	if e.assumePKCE {
		typed = append(typed, []string{"--assume-pkce"})
	}
	for _, param := range e.params {
		typed = append(typed, []string{"--authorize-param", param})
	}
	return typed
}

// options are those of the flags, for the authorization server with an issuer.
func (e *exceptions) options(issuer string) ([]auth.Option, error) {
	typed := e.typed()
	if len(typed) == 0 {
		return nil, nil
	}
	if issuer == "" {
		f := failure.Usage("%s needs --issuer: an exception is for one authorization server", typed[0][0])
		f.Note = "mcpctl auth inspect shows the issuer"
		return nil, f
	}
	var opts []auth.Option
	if e.withoutResource {
		opts = append(opts, auth.WithoutResource(issuer))
	}
	if e.assumePKCE {
		opts = append(opts, auth.WithAssumedPKCE(issuer))
	}
	params := url.Values{}
	for _, param := range e.params {
		name, value, ok := strings.Cut(param, "=")
		if !ok || name == "" {
			return nil, failure.Usage("--authorize-param takes NAME=VALUE, such as audience=https://api.example.com")
		}
		params.Add(name, value)
	}
	if len(params) > 0 {
		opts = append(opts, auth.WithAuthorizeParams(issuer, params))
	}
	return opts, nil
}
