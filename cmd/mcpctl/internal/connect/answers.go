package connect

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/client/transport"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/toolcache"
)

// ProxyCache is the variable that names the folder in which the proxy keeps what servers answered
// at the last start; its value may be off.
const ProxyCache = "MCPCTL_PROXY_CACHE"

// Answers returns where the proxy keeps the answers of a server, and the identity of server and
// credentials. It returns nil where nothing is kept: if that is off, there is no cache folder, or
// the credentials are a token whose account nobody knows.
func (d *Dialer) Answers(t target.Target) (toolcache.Store, string, error) {
	folder, set := d.Console.Env(ProxyCache)
	if folder == "off" {
		return nil, "", nil
	}
	if !set || folder == "" {
		user, err := os.UserCacheDir()
		if err != nil {
			return nil, "", nil //nolint:nilerr // it works without
		}
		folder = filepath.Join(user, "mainstay", "proxy")
	}
	identity, err := d.identity(t)
	if err != nil || identity == "" {
		return nil, "", err
	}
	return &toolcache.FileStore{Dir: folder, Files: 256, MaxBytes: 4 << 20}, identity, nil
}

// identity names a server and the credentials with which it is reached, as digests. It is empty
// if the account is unknown.
func (d *Dialer) identity(t target.Target) (string, error) {
	if t.Argv != nil {
		return d.programIdentity(t)
	}
	login := d.Flags.Auth
	if kind, _, _ := strings.Cut(login, ":"); kind == "bearer" || kind == "env" || kind == "program" {
		return "", nil
	}
	header, err := d.Header(t)
	if err != nil {
		return "", err
	}
	over := transport.HTTP{URL: t.URL, Header: header}
	scope, _ := over.Scope() // known: nothing but headers is set
	return strings.Join([]string{over.Identity(), scope, login}, " "), nil
}

// programIdentity adds to the digest of a program what it has from mcpctl: the directory, and the
// secrets in the environment if it inherits them.
func (d *Dialer) programIdentity(t target.Target) (string, error) {
	command, err := d.Command(t)
	if err != nil {
		return "", err
	}
	command.Argv = t.Argv
	if command.Inherit == transport.EnvAll {
		inherited := slices.DeleteFunc(os.Environ(), func(variable string) bool {
			name, _, _ := strings.Cut(variable, "=")
			return !mcperrors.SecretName(name)
		})
		slices.Sort(inherited)
		command.Env = slices.Concat(inherited, command.Env)
	}
	folder, err := os.Getwd()
	if err != nil {
		return "", nil //nolint:nilerr // it works without
	}
	return command.Identity() + " " + folder, nil
}
