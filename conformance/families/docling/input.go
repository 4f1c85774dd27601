package docling

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/pdf"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// A fileFormat is a kind of file with a tool of its own.
type fileFormat struct {
	name, title string
	about       string // for the tool's description
	extension   string
	siblings    []string // extensions of the same format with macros, and of its templates
	magic       []byte
	mimeTypes   []string
	most        int64  // bytes (tools.md §4.4)
	options     string // that choose a part of it
	less        string // what to ask for when there is too much
}

// begins reports whether data is a file of the format by its first bytes. Readers look
// for the header of a PDF file behind bytes that do not belong to it.
func (f *fileFormat) begins(data []byte) bool {
	if f.name == formatPDF {
		return bytes.Contains(data[:min(len(data), pdf.HeaderWithin)], f.magic)
	}
	return bytes.HasPrefix(data, f.magic)
}

var zipMagic = []byte("PK\x03\x04")

const (
	pageOptions = "page_range [from, to], max_pages, "
	fewerPages  = "fewer pages with options.page_range"
)

// fileFormats are the formats in the order of their tools.
var fileFormats = []fileFormat{
	{formatPDF, "PDF", "Headings, lists, tables and columns are found by their place and size; scans are not read.", ".pdf", nil, []byte("%PDF-"), []string{"application/pdf", "application/x-pdf"}, 100 << 20, pageOptions, fewerPages},
	{formatDOCX, "DOCX", "Titles, headings, lists, tables and looks come from the document's styles.", ".docx", []string{".docm", ".dotx", ".dotm"}, zipMagic, []string{"application/vnd.openxmlformats-officedocument.wordprocessingml.document"}, 50 << 20, "", ""},
	{formatXLSX, "XLSX", "Each worksheet becomes a group, each connected block of cells a table.", ".xlsx", []string{".xlsm", ".xltx", ".xltm"}, zipMagic, []string{"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"}, 50 << 20, "page_range and max_pages (of sheets), row_range [from, to] (of each sheet), ", "fewer sheets with options.page_range or fewer rows with options.row_range"},
	{formatPPTX, "PPTX", "Each slide becomes a group; speaker's notes are kept in the layer notes.", ".pptx", []string{".pptm", ".potx", ".potm", ".ppsx", ".ppsm"}, zipMagic, []string{"application/vnd.openxmlformats-officedocument.presentationml.presentation"}, 50 << 20, pageOptions, fewerPages},
}

// An input is a document to convert.
type input struct {
	filename string
	data     []byte
}

// input reads the document of a call: a file below a root, or what the call
// carries itself; exactly one of them.
func (s *service) input(args family.Args, format *fileFormat) (*input, error) {
	_, file := args["file_path"]
	_, content := args["content_base64"]
	_, name := args["filename"]
	var in *input
	var err error
	switch {
	case file && !content && !name:
		in, err = s.file(args, format)
	case content && name && !file:
		in, err = carried(args, format)
	default:
		return nil, family.Invalid("file_path", "one_of", "give either file_path, or content_base64 and filename")
	}
	if err != nil {
		return nil, err
	}
	switch {
	case len(in.data) == 0:
		return nil, failed("read", worker.Empty, "the file is empty")
	case !format.begins(in.data) && !sealed(in.data, format):
		return nil, failed("detect", worker.Unsupported, "the content is not that of a "+format.extension+" file")
	}
	return in, nil
}

// oleMagic begins the container in which office programs put encrypted files,
// and in which those of before 2007 are.
var oleMagic = []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")

// sealed says that the converter should see the file although it is no zip: it
// can tell an encrypted one from an old one.
func sealed(data []byte, format *fileFormat) bool {
	return format.name != formatPDF && bytes.HasPrefix(data, oleMagic)
}

func carried(args family.Args, format *fileFormat) (*input, error) {
	name, err := args.String("filename", 1, 255)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(name, "/\\\x00") || name == "." || name == ".." {
		return nil, family.Invalid("filename", "path", "filename must be a name without a folder")
	}
	if err := checkExtension("filename", name, format); err != nil {
		return nil, err
	}
	text, err := args.String("content_base64", 0, 0)
	if err != nil {
		return nil, err
	}
	if int64(base64.StdEncoding.DecodedLen(len(text))) > format.most+3 {
		return nil, tooLarge(format)
	}
	data, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		return nil, family.Invalid("content_base64", "encoding", "content_base64 is not base64")
	}
	return &input{name, data}, nil
}

func checkExtension(field, name string, format *fileFormat) error {
	if ext := strings.ToLower(filepath.Ext(name)); ext != format.extension && !slices.Contains(format.siblings, ext) {
		return family.Invalid(field, "extension", "%s must end in %s for this tool", field, format.extension)
	}
	return nil
}

func tooLarge(format *fileFormat) error {
	return failed("read", worker.TooLarge, fmt.Sprintf("the file is over %d MiB", format.most>>20))
}

// file reads a file below one of the roots. Symlinks are resolved first, then
// the file is opened through the root, so that none put there meanwhile leads out.
func (s *service) file(args family.Args, format *fileFormat) (*input, error) {
	path, err := args.String("file_path", 1, 4096)
	if err != nil {
		return nil, err
	}
	if strings.ContainsRune(path, 0) {
		return nil, family.Invalid("file_path", "path", "file_path must not contain NUL")
	}
	if err := checkExtension("file_path", path, format); err != nil {
		return nil, err
	}
	if len(s.roots) == 0 {
		return nil, family.Invalid("file_path", "outside_roots", "this server reads no files: use content_base64 and filename")
	}
	f, err := s.open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(f, format.most+1))
	if err != nil {
		return nil, family.Invalid("file_path", "unreadable", "file_path cannot be read")
	}
	if int64(len(data)) > format.most {
		return nil, tooLarge(format)
	}
	return &input{filepath.Base(path), data}, nil
}

// open opens path, which is absolute or relative to one of the roots. What is
// outside of them looks the same whether it exists or not.
func (s *service) open(path string) (*os.File, error) {
	missing := false
	for _, root := range s.roots {
		candidate := path
		if !filepath.IsAbs(candidate) {
			candidate = filepath.Join(root, candidate)
		}
		target, err := filepath.EvalSymlinks(candidate)
		if err != nil {
			missing = missing || below(root, filepath.Clean(candidate)) != ""
			continue
		}
		if rel := below(root, target); rel != "" {
			return openBelow(root, rel)
		}
	}
	if missing {
		return nil, family.Invalid("file_path", "not_found", "file_path does not exist or cannot be read")
	}
	return nil, family.Invalid("file_path", "outside_roots", "file_path is not below a folder this server may read")
}

// below is path relative to root, or "" when it is not below it.
func below(root, path string) string {
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return ""
	}
	return rel
}

func openBelow(root, rel string) (*os.File, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	// A pipe would be waited for: look before opening.
	info, err := dir.Stat(rel)
	if err == nil && info.IsDir() {
		return nil, family.Invalid("file_path", "directory", "file_path is a folder")
	}
	if err == nil && !info.Mode().IsRegular() {
		return nil, family.Invalid("file_path", "not_a_file", "file_path is no regular file")
	}
	f, err := dir.Open(rel)
	if err != nil {
		reason := "unreadable"
		if errors.Is(err, fs.ErrNotExist) {
			reason = "not_found"
		}
		return nil, family.Invalid("file_path", reason, "file_path does not exist or cannot be read")
	}
	return f, nil
}
