package connect

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/example"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/serverfile"
)

// Trusted asks a person, once for a file, before a program that a name found in a project is
// started, and before a URL of it gets variables. The file is not the person's own.
func (d *Dialer) Trusted(ctx context.Context, t target.Target) error {
	e := t.Entry
	if e == nil || e.Digest == "" || t.Argv == nil && !e.Expanded || d.Trusts(e.File, e.Digest) {
		return nil
	}
	names, err := d.Names(true)
	if err != nil {
		return err
	}
	var own string
	var others []string
	for _, s := range names.Servers {
		switch {
		case s.In.Path != e.File || s.Digest != e.Digest || s.Err != nil || s.Disabled:
		case s.Name == e.Name:
			own = Allowed(s.Entry)
		default:
			others = append(others, Allowed(s.Entry))
		}
	}
	if own == "" {
		return failure.Unsent("%s has just changed: repeat the command", e.File)
	}
	if !d.Console.Asks() || d.Flags.NoInput {
		f := failure.New(failure.KindInputRequired, mcperrors.NotSent, "server %q is of a project file that you do not trust yet", e.Name)
		f.Add("file", "%s", e.File)
		f.Add("server", "%s", own)
		f.Note = failure.NoteNothingSent
		f.Try = append(f.Try, "mcpctl server trust "+example.Quote([]string{e.File}))
		return f
	}
	d.Console.Note("The server is of a project file:\n\n  file    " + visible.Line(e.File) + "\n  server  " + own + "\n")
	if more := len(others) - maxOthers; more > 0 {
		others = append(others[:maxOthers], fmt.Sprintf("and %d more; mcpctl server ls lists them", more))
	}
	if len(others) > 0 {
		d.Console.Note("The other servers of this file:\n\n  " + strings.Join(others, "\n  ") + "\n")
	}
	d.Console.Note("Trust all servers of this file until it changes? [y/N]")
	switch yes, err := d.Console.Yes(ctx); {
	case err != nil:
		return err
	case !yes:
		f := failure.New(failure.KindInputRequired, mcperrors.NotSent, "%s is not trusted", e.File)
		f.Note = failure.NoteNothingSent
		return f
	}
	if err := d.Trust(e.File, e.Digest); err != nil {
		d.Console.Warn("you will be asked again: %s", failure.RootCause(err))
	}
	return nil
}

// maxOthers is how many other servers of a file a question shows.
const maxOthers = 10

// Allowed is what the trust in a file allows one of its servers, on a line. The entry is read with
// its variables as they are written. Only the rules for secrets hide values, and not
// [Dialer.Secrets]: those have all variables of a file, also what a variable makes the program load.
func Allowed(e *serverfile.Entry) string {
	does := "starts "
	switch {
	case e.Command == "" && e.Expanded:
		does = "sends your variables to " + Address(e)
	case e.Command == "":
		does = "opens " + Address(e)
	default:
		if e.Dir != "" {
			does += "cd " + example.Quote([]string{e.Dir}) + " && "
		}
		var words []string
		for _, set := range e.Env {
			name, value, _ := strings.Cut(set, "=")
			if mcperrors.SecretName(name) && variable.FindString(value) != value {
				value = "[redacted]"
			}
			words = append(words, name+"="+mcperrors.Redact(value))
		}
		does += example.Quote(append(words, mcperrors.RedactCommand(append([]string{e.Command}, e.Args...))...))
	}
	return visible.Line(example.Quote([]string{e.Name}) + ": " + does)
}

// Address is the URL of an entry that is read with its variables as they are written, for people.
func Address(e *serverfile.Entry) string {
	address, _, _ := strings.Cut(e.URL, "?") // a query often has a token
	if strings.Contains(address, "${") {
		return address
	}
	return target.Shown(address)
}

// Trusts reports whether a person trusts a file with this content.
func (d *Dialer) Trusts(file, digest string) bool {
	path, err := trustPath(file)
	if err != nil {
		return false
	}
	kept, err := os.ReadFile(path)
	return err == nil && strings.HasPrefix(string(kept), digest+" ")
}

// Trust remembers that a person trusts a file with this content. Without a digest it forgets the
// file.
func (d *Dialer) Trust(file, digest string) error {
	path, err := trustPath(file)
	if err != nil {
		return err
	}
	if digest == "" {
		if err := os.Remove(path); !os.IsNotExist(err) {
			return err
		}
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(digest+" "+file+"\n"), 0o600)
}

// trustPath is where the trust in a file is kept.
func trustPath(file string) (string, error) {
	config, err := os.UserConfigDir()
	if err != nil {
		return "", err
	}
	name := sha256.Sum256([]byte(file))
	return filepath.Join(config, "mainstay", "trust", hex.EncodeToString(name[:16])), nil
}
