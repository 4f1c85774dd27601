package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/flags"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/hostfile"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
)

// printed are the flags of the proxy that the lines for a host repeat.
var printed = map[string]bool{"auth": true, "log": true, "log-arguments": true, "health": true, "check-arguments": true, "max-message": true, "server-stderr": true, "quiet": true}

// printedLogin are those of the login.
var printedLogin = map[string]bool{
	"login": true, "client-id": true, "client-secret-env": true, "issuer": true, "client-metadata": true, "scope": true, "only-scope": true,
	"dpop": true, "private-network": true, "issuer-slash": true, "without-resource": true, "assume-pkce": true, "authorize-param": true,
}

// printConfig prints the lines for the file of a host, and names the file.
func (a *app) printConfig(cmd *cobra.Command, t target.Target, o *proxyOptions) error {
	host := o.printFor
	e := hostfile.Entry{Name: hostfile.Name(t.Argv, t.URL)}
	typed := flags.Typed(cmd, printed, printedLogin)
	if t.Entry != nil {
		if a.flags.Config != "" || t.Entry.Place == "" {
			return failure.Usage("--print-config needs a server that the host can find: name it as FILE.json#NAME")
		}
		if slices.ContainsFunc(a.flags.Inputs, func(in string) bool { return !strings.Contains(in, "=@") }) {
			return failure.Usage("--print-config prints no inputs: give their files, as in --input K=@FILE")
		}
		e.Name = t.Entry.Name
		if at := slices.Index(typed, "-s"); at >= 0 { // its place, which is absolute, replaces it
			typed = slices.Delete(typed, at, at+2)
		}
	}
	if o.address == "" {
		e.Command = append([]string{ownPath(), "proxy"}, typed...)
		switch {
		case t.Entry != nil:
			e.Command = append(e.Command, t.Entry.Place)
		case t.Argv != nil:
			e.Command = append(append(e.Command, "--"), t.Argv...)
		case !cmd.Flags().Changed("server"):
			e.Command = append(e.Command, t.URL)
		}
		if slices.ContainsFunc(a.flags.Headers, literal) || slices.ContainsFunc(a.flags.Env, literal) {
			a.console.Warn("the lines have the values of -H and -e: share none that are secret; ${NAME} in -H, and -e NAME alone, are read when the proxy starts")
		}
	} else if err := o.printURL(host, &e); err != nil {
		return err
	}
	a.console.Note("these lines belong into " + hostfile.Place(host, runtime.GOOS))
	if e.Token {
		a.console.Note("the token is in " + o.tokenPlace() + "; it is made when the proxy starts")
		if host != "vscode" {
			a.console.Note("set " + hostfile.TokenVariable + " to it in the environment of the host")
		}
	}
	return a.console.PrintRaw(hostfile.Lines(host, e))
}

// printURL completes the entry of a proxy that listens.
func (o *proxyOptions) printURL(host string, e *hostfile.Entry) error {
	address, err := o.check()
	if err != nil {
		return err
	}
	name, port, _ := net.SplitHostPort(address) // check has made it
	if port == "0" {
		return failure.Usage("--print-config needs the port: write it in --listen")
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsUnspecified() {
		name = o.hosts[0]
	}
	e.URL = o.scheme() + "://" + net.JoinHostPort(name, port) + endpoint
	if e.Token = !o.noAuth; host != "claude" {
		return nil
	}
	// Its file has programs only.
	e.Command = []string{ownPath(), "proxy"}
	if e.Token {
		e.Command = append(e.Command, "--auth", "bearer:@"+absolute(o.tokenPlace()))
	}
	e.Command = append(e.Command, e.URL)
	e.URL, e.Token = "", false
	return nil
}

// literal reports whether a header or a variable has its value on the command line.
func literal(typed string) bool {
	_, value, found := strings.Cut(strings.Replace(typed, ":", "=", 1), "=")
	return found && !strings.HasPrefix(typed, "@") && !strings.Contains(value, "${")
}

// ownPath is how a host starts this program: by its name if that is on PATH.
func ownPath() string {
	own, err := os.Executable()
	if err != nil {
		return "mcpctl"
	}
	found, err := exec.LookPath("mcpctl")
	if err != nil {
		return own
	}
	one, err := os.Stat(own)
	other, err2 := os.Stat(found)
	if err != nil || err2 != nil || !os.SameFile(one, other) {
		return own
	}
	return "mcpctl"
}

// absolute returns a path that means the same in the folder of a host.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}
