package connect

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/mainstay-mcp/mainstay/auth"
	"github.com/mainstay-mcp/mainstay/auth/keychain"
	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/operand"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// unlocking bounds the wait for a person who has to unlock the keychain.
const unlocking = time.Minute

// Store returns the tokens of this person: files in a folder, or sealed files whose key
// is in the keychain. Its errors are failures with the folder and what to do.
func (d *Dialer) Store(ctx context.Context) (auth.Store, error) {
	kind := d.Flags.TokenStore
	if kind == "" {
		kind, _ = d.Console.Env("MCPCTL_TOKEN_STORE")
	}
	if kind != "" && kind != "files" && kind != "keychain" {
		return nil, failure.Usage("the token store is files or keychain, not %q", kind)
	}
	folder, err := d.tokenFolder()
	if err != nil {
		return nil, err
	}
	if kind != "keychain" {
		store, err := auth.OpenFiles(folder)
		if err != nil {
			return nil, unusable(folder, err)
		}
		return store, nil
	}
	ctx, cancel := context.WithTimeout(ctx, unlocking)
	defer cancel()
	store, err := keychain.Open(ctx, folder, "mcpctl")
	switch {
	case errors.Is(err, keychain.ErrUnavailable):
		f := failure.New(failure.KindAuth, mcperrors.NotSent, "%s", err)
		f.Try = append(f.Try, "--token-store files")
		return nil, f
	case err != nil:
		return nil, unusable(folder, err)
	}
	return store, nil
}

// tokenFolder is the folder of tokens, which need not be there.
func (d *Dialer) tokenFolder() (string, error) {
	if folder, ok := d.Console.Env("MCPCTL_AUTH_DIR"); ok && folder != "" {
		return filepath.Abs(folder)
	}
	config, err := os.UserConfigDir()
	if err != nil {
		return "", failure.Usage("there is no folder for tokens: set MCPCTL_AUTH_DIR")
	}
	return filepath.Join(config, "mainstay", "tokens"), nil
}

// MakeFolder makes the folder of tokens, before a person logs in: a token that cannot be
// kept is of no use to the commands that follow.
func (d *Dialer) MakeFolder() error {
	folder, err := d.tokenFolder()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return unusable(folder, err)
	}
	return nil
}

// unusable is the failure of a folder of tokens, with what to do.
func unusable(folder string, err error) *failure.Failure {
	f := failure.New(failure.KindAuth, mcperrors.NotSent, "the folder of tokens cannot be used: %s", failure.RootCause(err))
	f.Add("folder", "%s", visible.Line(folder))
	f.Note = "MCPCTL_AUTH_DIR names another folder"
	var damaged *auth.DamagedError
	if errors.As(err, &damaged) && damaged.Folder {
		f.Message = "the folder of tokens cannot be used: " + damaged.Reason
		f.Try = append(f.Try, example.Quote([]string{"chmod", "700", folder}))
	}
	return f
}

// Credentials returns what --auth asks for, nil for no credentials but those of -H.
func (d *Dialer) Credentials(ctx context.Context, t target.Target) (transport.Authorizer, error) {
	kind, value, _ := strings.Cut(d.Flags.Auth, ":")
	switch kind {
	case "none":
		return nil, nil
	case "bearer":
		return d.bearer(value)
	case "env":
		token, ok := d.Console.Env(value)
		if !ok || token == "" {
			return nil, failure.Usage("%s: the variable is not set", flags.Variable("--auth env:", value))
		}
		return d.fixed(token), nil
	case "program":
		return d.program(value)
	case "profile":
		if d.Advise != nil {
			return ifAsked{d.stored(ctx, value), d.Advise}, nil
		}
		return d.stored(ctx, value), nil
	}
	for _, h := range d.Flags.Headers {
		name, _, _ := strings.Cut(h, ":")
		if strings.EqualFold(strings.TrimSpace(name), "authorization") || strings.HasPrefix(h, "@") {
			return nil, nil // the person has credentials of their own
		}
	}
	if t.Entry != nil && t.Entry.Authorized() {
		return nil, nil // the file has
	}
	return ifAsked{d.stored(ctx, ""), d.Advise}, nil
}

// stored returns tokens of earlier logins. Without [Dialer.Ask] only `mcpctl auth login` asks a
// person: a command in a script must not wait for one.
func (d *Dialer) stored(ctx context.Context, profile string) *auth.Authorizer {
	store := lazyStore(sync.OnceValues(func() (auth.Store, error) { return d.Store(ctx) }))
	ask := d.Ask
	if ask == nil {
		ask = []auth.Option{auth.WithoutLogin()}
	}
	return auth.Login(append([]auth.Option{
		auth.WithStore(store), auth.WithPrincipal(profile), auth.WithClientName("mcpctl"),
		auth.WithTransport(d.LoginTransport()),
	}, ask...)...)
}

// LoginTransport is that of requests to authorization servers. It has a proxy only if
// the environment names one: behind a proxy, nobody sees which addresses are reached.
func (d *Dialer) LoginTransport() *http.Transport {
	t := d.RoundTripper()
	for _, name := range [...]string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if proxy, ok := d.Console.Env(name); ok && proxy != "" {
			return t
		}
	}
	t.Proxy = nil
	return t
}

// bearer reads a token from a file, or from stdin for @-.
func (d *Dialer) bearer(from string) (transport.Authorizer, error) {
	file, ok := strings.CutPrefix(from, "@")
	if !ok {
		f := failure.Usage("--auth bearer: takes a file, because a command line is no place for a token")
		f.Try = append(f.Try, "--auth bearer:@FILE", "--auth env:VAR")
		return nil, f
	}
	var text []byte
	var err error
	if file == "-" {
		text, err = io.ReadAll(io.LimitReader(d.Console.In, maxToken))
	} else {
		text, err = os.ReadFile(file)
	}
	token := string(bytes.TrimSpace(operand.WithoutMark(text)))
	switch {
	case err != nil:
		return nil, failure.Usage("--auth bearer: this file cannot be read: %s", failure.RootCause(err))
	case token == "" || len(text) >= maxToken:
		return nil, failure.Usage("--auth bearer: there is no token in this file")
	}
	return d.fixed(token), nil
}

// maxToken bounds a token that is read.
const maxToken = 64 << 10

func (d *Dialer) fixed(token string) transport.Authorizer {
	d.Secrets.Keep("token", token)
	return auth.Bearer(func(context.Context) (string, error) { return token, nil })
}
