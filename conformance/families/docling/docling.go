// Package docling is the S2 family: five tools that convert documents into
// DoclingDocuments and three that export those (tools.md §4.7).
package docling

import (
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/web"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// Name is the family's name, and that of its error profile.
const Name = "docling"

// Options configures the family. The zero value converts what calls carry and
// what is on the public internet, but no files.
type Options struct {
	// InputRoots is DOCLING_INPUT_ROOTS: the folders that file_path may point into.
	InputRoots []string
	// AllowNetworks are networks that convert_url may reach although they are not
	// public, for tests.
	AllowNetworks []netip.Prefix
	// Parallel is how many conversions run at once, and Queue how many more may
	// wait; zero chooses (see [worker.NewPool]).
	Parallel, Queue int
	// Memory bounds one conversion, in bytes; zero is 1 GiB.
	Memory int64
	// MaxResult bounds a converted document, in bytes of JSON. Zero is what an
	// answer of 16 MiB holds, which is what clients take. An answer carries the
	// document twice, once of them quoted, if that fits, and else once.
	MaxResult int64
	// Version is the version of the schema that documents claim, for readers
	// that know none as late as [document.Version]; empty is that one.
	Version string
	// Deadline bounds a conversion; zero goes by the size of the document.
	Deadline time.Duration
	// Command starts a converter process; empty is the running program with
	// [worker.Argument], which must call [WorkerMain].
	Command []string
}

// service is what the tools share.
type service struct {
	roots   []string
	fetcher *web.Fetcher
	pool    *worker.Pool
	answer  int64  // how large an answer may be, 0 for no bound
	version string // that documents claim
	// deadline is how long a document of so many bytes may take.
	deadline func(size int64) time.Duration
}

// WorkerMain is the program of a converter process: what a program does that was
// started with [worker.Argument]. It returns the code to exit with.
func WorkerMain(in io.Reader, out io.Writer) int { return worker.Main(in, out, convert) }

// New returns the family.
func New(opts Options) (*family.Family, error) {
	s, err := newService(opts)
	if err != nil {
		return nil, err
	}
	return s.family(), nil
}

func newService(opts Options) (*service, error) {
	roots, err := resolveRoots(opts.InputRoots)
	if err != nil {
		return nil, err
	}
	argv := opts.Command
	if len(argv) == 0 {
		if argv, err = worker.Command(); err != nil {
			return nil, err
		}
	}
	if err := document.CheckVersion(opts.Version); opts.Version != "" && err != nil {
		return nil, fmt.Errorf("docling: %w", err)
	}
	s := &service{roots: roots, version: opts.Version, deadline: deadline}
	result := opts.MaxResult
	if result <= 0 {
		s.answer = maxAnswer
		result = maxAnswer
	}
	if opts.Deadline > 0 {
		s.deadline = func(int64) time.Duration { return opts.Deadline }
	}
	s.fetcher = web.NewFetcher(&web.Guard{Allow: opts.AllowNetworks})
	s.pool = worker.NewPool(argv, worker.Limits{Memory: opts.Memory, Output: result}, opts.Parallel, opts.Queue)
	return s, nil
}

func (s *service) family() *family.Family {
	f := &family.Family{Name: Name, Profile: Name, Classify: classify}
	for i := range fileFormats {
		f.Tools = append(f.Tools, s.fileTool(&fileFormats[i]))
	}
	f.Tools = append(f.Tools, s.urlTool(),
		exportTool("markdown", "Markdown", exportDeadline), exportTool("html", "HTML", exportDeadline), exportTool("json", "JSON", exportDeadline))
	for i := range f.Tools {
		f.Tools[i].Handle = inEra(f, f.Tools[i].Handle)
	}
	return f
}

// maxAnswer is how large an answer may be that no option bounds: the 16 MiB that
// clients take, without what stands around the document.
const maxAnswer = 16<<20 - 16<<10

// resolveRoots returns the roots as absolute paths without symlinks.
func resolveRoots(roots []string) ([]string, error) {
	out := make([]string, len(roots))
	for i, root := range roots {
		abs, err := filepath.Abs(root)
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		if err != nil {
			return nil, fmt.Errorf("docling: input root: %w", err)
		}
		out[i] = abs
	}
	return out, nil
}

// The time limits of tools.md §4.4 and S2-ROUTE-02.
const (
	urlDeadline    = 180 * time.Second
	exportDeadline = 60 * time.Second
)

func deadline(size int64) time.Duration {
	switch {
	case size < 10<<20:
		return 60 * time.Second
	case size < 50<<20:
		return 180 * time.Second
	}
	return 300 * time.Second
}

// The input schemas of Appendix A, verbatim.
var (
	fileSchema   = json.RawMessage(`{"type":"object","additionalProperties":false,"oneOf":[{"required":["file_path"]},{"required":["content_base64","filename"]}],"properties":{"file_path":{"type":"string","minLength":1},"content_base64":{"type":"string"},"filename":{"type":"string"},"options":{"type":"object"}}}`)
	urlSchema    = json.RawMessage(`{"type":"object","properties":{"url":{"type":"string","format":"uri","pattern":"^[Hh][Tt][Tt][Pp][Ss]?://","maxLength":2048},"options":{"type":"object"}},"required":["url"],"additionalProperties":false}`)
	exportSchema = json.RawMessage(`{"type":"object","required":["document"],"additionalProperties":false,"properties":{"document":{"type":"object","properties":{"schema_name":{"const":"DoclingDocument"},"name":{"type":"string"},"version":{"type":"string"}},"required":["schema_name","name"]},"options":{"type":"object"}}}`)
)
