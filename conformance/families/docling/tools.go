package docling

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/web"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// fileTool is the tool that converts files of a format.
func (s *service) fileTool(format *fileFormat) family.Tool {
	return family.Tool{
		Name:  "convert_" + format.name,
		Title: "Convert " + format.title,
		Description: "Convert a " + format.title + " file into a DoclingDocument: its text in reading order with its structure. " + format.about +
			" Give file_path (below a folder the server may read), or content_base64 with filename. Export the result with export_markdown, export_html or export_json." +
			" Options: " + format.options + "image_mode (placeholder or embedded). The member dropped lists what was left out.",
		InputSchema: fileSchema,
		ReadOnly:    true,
		Handle: func(ctx context.Context, call *family.Call) (any, error) {
			args, err := family.ParseArgs(call.Arguments, "file_path", "content_base64", "filename", "options")
			if err != nil {
				return nil, err
			}
			opts, err := parseOptions(args)
			if err != nil {
				return nil, err
			}
			in, err := s.input(args, format)
			if err != nil {
				return nil, err
			}
			ctx, cancel := context.WithTimeout(ctx, s.deadline(int64(len(in.data))))
			defer cancel()
			return s.convert(ctx, call, opts, &worker.Request{Format: format.name, Filename: in.filename, Document: in.data})
		},
	}
}

// convert has a process convert a document.
func (s *service) convert(ctx context.Context, call *family.Call, opts *options, req *worker.Request) (any, error) {
	call.Started(ctx, slog.String("format", req.Format), slog.Int("size_bytes", len(req.Document)))
	var err error
	opts.Version = s.version
	if req.Options, err = json.Marshal(opts); err != nil {
		return nil, err
	}
	doc, err := s.pool.Convert(ctx, req)
	if err != nil {
		return nil, advised(err, req.Format)
	}
	answer, err := s.answered(doc)
	if err != nil {
		return nil, advised(err, req.Format)
	}
	fields := []slog.Attr{slog.String("format", req.Format), slog.Int("result_bytes", len(doc))}
	if dropped := droppedIn(doc); len(dropped) > 0 {
		fields = append(fields, slog.Any("dropped", dropped))
	}
	call.Completed(fields...)
	return answer, nil
}

// droppedIn are the sentences of a document about what was dropped.
func droppedIn(doc json.RawMessage) []string {
	if !bytes.Contains(doc, []byte(`"dropped":[`)) { // most: it is slow to look
		return nil
	}
	var d struct {
		Dropped []string `json:"dropped"`
	}
	_ = json.Unmarshal(doc, &d) // it was written here
	return d.Dropped
}

// advised says of a document that is too large which options help.
func advised(err error, format string) error {
	var failure *worker.Failure
	if !errors.As(err, &failure) || failure.Reason != worker.TooLarge {
		return err
	}
	for i := range fileFormats {
		if f := &fileFormats[i]; f.name == format && f.less != "" {
			failure.Message += "; ask for " + f.less
		}
	}
	return err
}

// urlTool is the tool that converts what is on the web.
func (s *service) urlTool() family.Tool {
	return family.Tool{
		Name:  "convert_url",
		Title: "Convert URL",
		Description: "Fetch an http or https URL and convert it into a DoclingDocument: an HTML page with its headings, lists, tables and links, " +
			"or a PDF or office file. Only addresses of the public internet are fetched, with at most 5 redirects and 50 MiB. " +
			"Options: main_content_only, infer_furniture, image_mode (placeholder or embedded), and for files page_range, max_pages and row_range. The member dropped lists what was left out.",
		InputSchema: urlSchema,
		ReadOnly:    true,
		Handle:      s.convertURL,
	}
}

func (s *service) convertURL(ctx context.Context, call *family.Call) (any, error) {
	args, err := family.ParseArgs(call.Arguments, "url", "options")
	if err != nil {
		return nil, err
	}
	text, err := args.String("url", 1, web.MaxURL)
	if err != nil {
		return nil, err
	}
	u, err := web.ParseURL(text)
	if errors.Is(err, web.ErrBlocked) {
		return nil, fetchFailure(ctx, err)
	}
	if err != nil {
		return nil, family.Invalid("url", "url", "url must be an http or https URL without credentials")
	}
	opts, err := parseOptions(args)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, min(urlDeadline, s.deadline(web.MaxBody)))
	defer cancel()
	res, err := s.fetcher.Fetch(ctx, u)
	if err != nil {
		return nil, fetchFailure(ctx, err)
	}
	format, err := detect(res)
	if err != nil {
		return nil, err
	}
	return s.convert(ctx, call, opts, &worker.Request{
		Format: format, Filename: res.Filename(), ContentType: res.ContentType, URI: res.URL.String(), Document: res.Body,
	})
}

// detect chooses the format by the content type; what the server cannot name is
// looked at.
func detect(res *web.Resource) (string, error) {
	if len(res.Body) == 0 {
		return "", failed("fetch", worker.Empty, "the document is empty")
	}
	switch res.MIMEType {
	case "text/html", "application/xhtml+xml":
		return formatHTML, nil
	case "", "application/octet-stream", "binary/octet-stream":
		if bytes.HasPrefix(res.Body, fileFormats[0].magic) {
			return formatPDF, nil
		}
		if format := sniffed(res); format != "" {
			return format, nil
		}
	default:
		for i := range fileFormats {
			f := &fileFormats[i]
			if !slices.Contains(f.mimeTypes, res.MIMEType) {
				continue
			}
			if !f.begins(res.Body) && !sealed(res.Body, f) {
				return "", failed("detect", worker.Unsupported, "the content is not what its content type says")
			}
			return f.name, nil
		}
	}
	return "", failed("detect", worker.Unsupported, "the content type is not one that is converted")
}

// sniffed finds the format of an archive by the name of the document, and takes
// for a page what looks like one.
func sniffed(res *web.Resource) string {
	for i := range fileFormats {
		f := &fileFormats[i]
		if f.begins(res.Body) && checkExtension("url", res.Filename(), f) == nil {
			return f.name
		}
	}
	head := bytes.ToLower(bytes.TrimSpace(res.Body[:min(len(res.Body), 512)]))
	for _, begin := range []string{"<!doctype html", "<html", "<head", "<body"} {
		if bytes.HasPrefix(head, []byte(begin)) {
			return formatHTML
		}
	}
	return ""
}
