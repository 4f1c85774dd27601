package client_test

import (
	"context"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/clienttest"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// The page about document tools shows the functions here; a test compares them.

var converters = map[string]string{
	".pdf": "convert_pdf", ".docx": "convert_docx", ".xlsx": "convert_xlsx", ".pptx": "convert_pptx",
}

var exporters = map[string]string{
	"markdown": "export_markdown", "html": "export_html", "json": "export_json",
}

// route returns the tool that converts input, a URL or a file of size bytes, and how
// long the call may take.
func route(input string, size int64) (tool string, limit time.Duration, err error) {
	if strings.Contains(input, "://") {
		if u, err := url.Parse(input); err != nil || u.Scheme != "http" && u.Scheme != "https" {
			return "", 0, mcperrors.New(mcperrors.CodeURLInvalid, mcperrors.KindApp, mcperrors.NotSent, "not an http(s) URL", err)
		}
		return "convert_url", 180 * time.Second, nil
	}
	tool, known := converters[strings.ToLower(filepath.Ext(input))]
	if !known {
		return "", 0, mcperrors.New(mcperrors.CodeFileUnsupported, mcperrors.KindApp, mcperrors.NotSent, "no tool converts "+input, nil)
	}
	switch {
	case size < 10<<20:
		return tool, 60 * time.Second, nil
	case size < 50<<20:
		return tool, 180 * time.Second, nil
	}
	return tool, 300 * time.Second, nil
}

func convert(ctx context.Context, c *client.Client, input string, size int64) (*mcp.CallToolResult, error) {
	tool, limit, err := route(input, size)
	if err != nil {
		return nil, err
	}
	arguments := map[string]any{"file_path": input}
	if tool == "convert_url" {
		arguments = map[string]any{"url": input}
	}
	return c.CallTool(ctx, tool, arguments, client.WithTimeouts(limit, limit))
}

func export(ctx context.Context, c *client.Client, format string, document any) (*mcp.CallToolResult, error) {
	arguments := map[string]any{"document": document}
	return c.CallTool(ctx, exporters[format], arguments, client.WithTimeouts(60*time.Second, 60*time.Second))
}

// TestRoutes: the table of the seed, and the time that each kind of call may take from
// a server that reports no progress.
func TestRoutes(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for _, tt := range []struct {
		input string
		size  int64
		tool  string
		limit time.Duration
		code  mcperrors.Code
	}{
		{"report.pdf", 0, "convert_pdf", time.Minute, ""},
		{"Report.PDF", 10*mib - 1, "convert_pdf", time.Minute, ""},
		{"a/letter.docx", 10 * mib, "convert_docx", 3 * time.Minute, ""},
		{"sheet.xlsx", 50*mib - 1, "convert_xlsx", 3 * time.Minute, ""},
		{"talk.pptx", 50 * mib, "convert_pptx", 5 * time.Minute, ""},
		{"https://example.com/page.pdf", 0, "convert_url", 3 * time.Minute, ""},
		{"http://example.com", 0, "convert_url", 3 * time.Minute, ""},
		{"notes.txt", 0, "", 0, mcperrors.CodeFileUnsupported},
		{"pdf", 0, "", 0, mcperrors.CodeFileUnsupported},
		{"ftp://example.com/a.pdf", 0, "", 0, mcperrors.CodeURLInvalid},
	} {
		t.Run(tt.input, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				srv := clienttest.NewServer(t)
				for _, tool := range slices.Concat(slices.Collect(maps.Values(converters)), slices.Collect(maps.Values(exporters)), []string{"convert_url"}) {
					srv.Tool(tool, "", func(*clienttest.Call) (any, error) { return nil, clienttest.ErrSilent })
				}
				c, err := client.Connect(t.Context(), srv.Transport())
				require.NoError(t, err)
				defer c.Close()
				began := time.Now()
				_, err = convert(t.Context(), c, tt.input, tt.size)
				require.Equal(t, tt.limit, time.Since(began))
				var e *mcperrors.Error
				require.ErrorAs(t, err, &e)
				require.Equal(t, tt.tool, e.Tool)
				if tt.code != "" {
					require.Equal(t, tt.code, e.Code)
					return
				}
				require.Equal(t, mcperrors.CodeTimeout, e.Code)
				began = time.Now()
				_, err = export(t.Context(), c, "html", map[string]any{})
				require.ErrorAs(t, err, &e)
				require.Equal(t, "export_html", e.Tool)
				require.Equal(t, time.Minute, time.Since(began))
			})
		})
	}
}
