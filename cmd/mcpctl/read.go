package main

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/connect"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/console"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/failure"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/target"
	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/doc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func newReadCmd(a *app) *cobra.Command {
	r := &reading{app: a}
	cmd := &cobra.Command{
		Use:   "read [SERVER] URI [k=v…]",
		Short: "Read a resource",
		Long: `Read a resource. Text is printed as text. Binary data never reaches a terminal:
-O writes it to a new file, and a pipe gets its bytes. The operands are the
values of a URI template; those of its query may be left out. See mcpctl ls
resources and mcpctl ls templates.`,
		Example: `  mcpctl read :3000/mcp file:///guide.md
  mcpctl read :3000/mcp 'file:///{path}' path=guide.md
  mcpctl read :3000/mcp img://logo -O logo.png`,
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd, args) },
	}
	cmd.Flags().StringVarP(&r.file, "out", "O", "", "write the content to this new `file`, unchanged; - is standard output")
	r.talk.register(cmd.Flags())
	return cmd
}

// uriLine returns the server and the other operands. After a program has been given, the URI
// of a resource is not taken for that of a server.
func uriLine(d *connect.Dialer, cmd *cobra.Command, args []string) (target.Target, []string, error) {
	l := target.NewLine(cmd, args)
	operands := l.Operands
	if !l.Dashed {
		return d.Server(l)
	}
	l.Operands = nil
	t, _, err := d.Server(l)
	return t, operands, err
}

// reading is one run of the command.
type reading struct {
	app  *app
	talk talkFlags
	file string
}

func (r *reading) run(cmd *cobra.Command, args []string) error {
	a := r.app
	t, rest, err := uriLine(a.dial, cmd, args)
	if err != nil {
		return err
	}
	if len(rest) == 0 {
		return unsent("no resource given: name the URI to read; mcpctl ls resources lists them")
	}
	_, operands, err := a.operands(rest[1:], "", false)
	if err != nil {
		return err
	}
	uri, err := expand(rest[0], operands)
	if err != nil {
		return err
	}
	if r.file != "" && r.file != "-" {
		if _, err := os.Lstat(r.file); err == nil {
			return unsent("-O: %s exists, and is not overwritten: name another file", r.file)
		}
		folder := filepath.Dir(r.file)
		if info, err := os.Stat(folder); err != nil || !info.IsDir() {
			return unsent("-O: there is no folder %s", folder)
		}
	} else if r.file == "-" && a.console.OutTerminal {
		return unsent("-O: a terminal gets no content unchanged, which may control it: name a file")
	}
	if err := r.talk.begin(a); err != nil {
		return err
	}
	return a.dial.With(cmd.Context(), t, func(ctx context.Context, c *connect.Connection) error {
		if !c.May("resources") {
			return undeclared(c, "resources")
		}
		raw, err := a.dial.Request(ctx, c, connect.Sent{Method: mcp.MethodResourcesRead}, console.Encode(map[string]string{"uri": uri}))
		if err != nil {
			return err
		}
		result, err := doc.Parse(raw)
		if err != nil || result.Get("contents").Kind() != doc.Array {
			return c.Broken("the answer to %s has no list named contents", mcp.MethodResourcesRead)
		}
		contents := result.Get("contents").Items()
		if r.file != "" {
			return writeContent(a.console, r.file, contents)
		}
		return printItems(a.console, raw, contents, func() error { return printContents(a.console, contents) })
	})
}

// undeclared is the failure of a request that the server does not offer.
func undeclared(c *connect.Connection, what string) *failure.Failure {
	f := failure.New(failure.KindNotFound, mcperrors.NotSent, "the server declares no %s", what)
	f.Add("server", "%s", c.ServerName())
	f.Note = failure.NoteNothingSent
	return f
}

// printItems prints a result whose items are lines of NDJSON.
func printItems(c *console.Console, raw []byte, items []*doc.Value, human func() error) error {
	switch c.Format {
	case console.JSON:
		return c.PrintJSON(raw)
	case console.Raw:
		return c.PrintRaw(raw)
	case console.NDJSON:
		for _, item := range items {
			if err := c.PrintRaw(console.Compact(item.AppendJSON(nil))); err != nil {
				return err
			}
		}
		return nil
	}
	return human()
}

// contentBytes returns what a content holds. binary is set for what is not text.
func contentBytes(content *doc.Value) (data []byte, binary bool, err error) {
	if text := content.Get("text"); text.Kind() == doc.String {
		return []byte(text.Str()), false, nil
	}
	data, err = base64.StdEncoding.DecodeString(content.Get("blob").Str())
	return data, true, err
}

// printContents prints text for people. A resource that is one piece of binary data passes
// unchanged to a pipe, because another program reads it there.
func printContents(c *console.Console, contents []*doc.Value) error {
	var b strings.Builder
	for _, content := range contents {
		data, binary, err := contentBytes(content)
		if err != nil {
			return notBase64(content)
		}
		if binary && len(contents) == 1 && !c.OutTerminal {
			_, err := c.Out.Write(data)
			return err
		}
		uri := visible.Line(content.Get("uri").Str())
		switch {
		case binary:
			media := visible.Line(cmp.Or(content.Get("mimeType").Str(), "data"))
			b.WriteString(c.Wrapped(fmt.Sprintf("[%s %s %s: -O FILE writes it]", uri, media, size(len(data))), ""))
			continue
		case len(contents) > 1:
			b.WriteString(c.OutStyle().Bold("["+uri+"]") + "\n")
		}
		b.WriteString(strings.TrimSuffix(visible.Text(string(data)), "\n") + "\n")
	}
	return c.Print(b.String())
}

// writeContent writes the one content of a resource to a new file, or to standard output for -.
func writeContent(c *console.Console, file string, contents []*doc.Value) error {
	if len(contents) != 1 {
		f := failure.New(failure.KindUsage, mcperrors.Answered, "the resource has %d contents, and -O writes one: use -o json in its place", len(contents))
		f.Reads = true
		return f
	}
	data, _, err := contentBytes(contents[0])
	if err != nil {
		return notBase64(contents[0])
	}
	if file == "-" {
		_, err := c.Out.Write(data)
		return err
	}
	if err := writeFile(file, data); err != nil {
		return failure.New(failure.KindOutput, mcperrors.Answered, "the resource could not be written: %v", err)
	}
	if !c.Quiet {
		c.Note("saved " + file + ", " + size(len(data)))
	}
	return nil
}

// writeFile writes a file that does not exist yet, all of it or none.
func writeFile(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(path)
	}
	return err
}

func notBase64(content *doc.Value) *failure.Failure {
	return failure.New(failure.KindProtocol, mcperrors.Answered, "the content of %s is not base64; -o raw shows it", content.Get("uri").Str())
}
