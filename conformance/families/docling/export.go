package docling

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/export"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
)

// exported is the structured result of an export.
type exported struct {
	Format    string `json:"format"`
	Content   string `json:"content"`
	SizeBytes int    `json:"size_bytes"`
}

// exportTool is the tool that writes documents in a format; most is how long
// that may take.
func exportTool(format, title string, most time.Duration) family.Tool {
	return family.Tool{
		Name:  "export_" + format,
		Title: "Export " + title,
		Description: "Write a DoclingDocument, as the convert tools return it, as " + title + ". " +
			"The text is the content itself; the structured result says its format and size too. " +
			"Options: include_furniture, image_mode (placeholder or embedded), page_break_placeholder, indent.",
		InputSchema: exportSchema,
		ReadOnly:    true,
		Handle: func(ctx context.Context, call *family.Call) (any, error) {
			ctx, cancel := context.WithTimeout(ctx, most)
			defer cancel()
			content, err := exportCall(ctx, call, format)
			if err != nil {
				return nil, err
			}
			call.Completed(slog.String("format", format), slog.Int("size_bytes", len(content)))
			return &family.Result{Payload: &exported{format, content, len(content)}, Text: content, Verbatim: true}, nil
		},
	}
}

func exportCall(ctx context.Context, call *family.Call, format string) (string, error) {
	args, err := family.ParseArgs(call.Arguments, "document", "options")
	if err != nil {
		return "", err
	}
	opts, err := parseOptions(args)
	if err != nil {
		return "", err
	}
	if err := checkDocument(args["document"]); err != nil {
		return "", err
	}
	call.Started(ctx, slog.String("format", format), slog.Int("document_bytes", len(args["document"])))
	doc, err := document.Decode(args["document"])
	if err != nil {
		return "", exportFailure("read", err)
	}
	if err := ctx.Err(); err != nil {
		return "", err
	}
	o := export.Options{ImageMode: opts.ImageMode, IncludeFurniture: opts.IncludeFurniture, PageBreak: opts.PageBreak}
	if opts.Indent != nil {
		indent := int(*opts.Indent)
		o.Indent = &indent
	}
	write := map[string]func(*document.Document, export.Options) (string, error){
		"markdown": export.Markdown, "html": export.HTML, "json": export.JSON,
	}[format]
	content, err := write(doc, o)
	if err != nil {
		return "", exportFailure("export", err)
	}
	return content, ctx.Err()
}

// checkDocument checks what the input schema says of a document.
func checkDocument(raw json.RawMessage) error {
	if raw == nil {
		return family.Invalid("document", "missing", "Missing required argument: document")
	}
	var head map[string]json.RawMessage
	if err := json.Unmarshal(raw, &head); err != nil || head == nil {
		return family.Invalid("document", "type", "document must be an object")
	}
	schema, err := family.Args(head).String("schema_name", 1, 0)
	if err != nil || schema != document.SchemaName {
		return family.Invalid("document.schema_name", "schema", "document.schema_name must be %s", document.SchemaName)
	}
	if _, err := family.Args(head).String("name", 0, 0); err != nil {
		return family.Invalid("document.name", "type", "document.name must be a string")
	}
	if _, ok := head["version"]; ok {
		if _, err := family.Args(head).String("version", 0, 0); err != nil {
			return family.Invalid("document.version", "type", "document.version must be a string")
		}
	}
	return nil
}

// exportFailure says why there is no export. A document of another version is a
// bad argument; one that contradicts itself cannot be exported.
func exportFailure(stage string, err error) error {
	reason := worker.Corrupt
	switch {
	case errors.Is(err, document.ErrSchema):
		return family.Invalid("document", "schema", "%v", err)
	case errors.Is(err, document.ErrTooLarge):
		reason = worker.TooLarge
	}
	return &family.Error{
		Code: codeExport, Message: "Export generation failed: " + err.Error(),
		Data: map[string]any{"stage": stage, "reason": reason}, Err: err,
	}
}
