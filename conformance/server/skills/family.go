package skills

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// Name is the family's name, and that of its error profile.
const Name = "skills"

// Extension is the identifier of the extension.
const Extension = "io.modelcontextprotocol/skills"

// Options configures the family. The zero value serves the samples.
type Options struct {
	// Dir contains the skills, each in a folder or deeper; empty is the samples.
	Dir string
	// Private says that not everybody may read them: shared caches must not keep them.
	Private bool
	// Logger gets the skills that are not served, with the reason; nil drops them.
	Logger *slog.Logger
}

//go:embed sample
var sample embed.FS

// server is what the handlers share.
type server struct {
	library *library
	private bool
}

// New returns the family. A folder that cannot be read is an error.
func New(opts Options) (*family.Family, error) {
	l := &library{log: opts.Logger}
	if l.log == nil {
		l.log = slog.New(slog.DiscardHandler)
	}
	end := func() error { return nil }
	if opts.Dir == "" {
		sub, err := fs.Sub(sample, "sample")
		if err != nil {
			return nil, err
		}
		l.fsys, l.fixed = sub, true
	} else {
		root, err := os.OpenRoot(opts.Dir) // nothing outside of it can be opened
		if err != nil {
			return nil, fmt.Errorf("the folder of skills: %w", err)
		}
		l.fsys, end = root.FS(), root.Close
	}
	s := &server{library: l, private: opts.Private}
	return &family.Family{
		Name: Name, Profile: Name, Register: s.register, Configure: configure,
		Extends: []string{methodList, methodGet, methodDirectory},
		Close:   func(context.Context) error { return end() },
	}, nil
}

func configure(opts *mcp.ServerOptions) {
	if opts.Capabilities == nil {
		opts.Capabilities = &mcp.ServerCapabilities{}
	}
	if opts.Capabilities.Resources == nil {
		opts.Capabilities.Resources = &mcp.ResourceCapabilities{}
	}
	opts.Capabilities.AddExtension(Extension, map[string]any{"directoryRead": true})
}
