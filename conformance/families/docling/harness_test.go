package docling

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/docling/document"
	"github.com/mainstay-mcp/mainstay/conformance/families/docling/worker"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

// TestMain makes this test binary its own converter process.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == worker.Argument {
		os.Exit(WorkerMain(os.Stdin, os.Stdout)) //nolint:forbidigo // this is the main of a converter
	}
	testmain.Run(m)
}

const corpus = "testdata/corpus"

// loopback is what test servers listen at.
var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}

func newTestService(t *testing.T, opts Options) *service {
	t.Helper()
	if opts.InputRoots == nil {
		opts.InputRoots = []string{corpus}
	}
	s, err := newService(opts)
	require.NoError(t, err)
	return s
}

// call runs a tool as the server does.
func call(ctx context.Context, f *family.Family, tool string, args any) (any, *family.Error) {
	raw, err := json.Marshal(args)
	if err != nil {
		return nil, family.Internal(err)
	}
	i := slices.IndexFunc(f.Tools, func(t family.Tool) bool { return t.Name == tool })
	c := family.NewCall(tool, raw, slog.New(slog.DiscardHandler))
	res, err := f.Tools[i].Handle(ctx, c)
	failure := f.Failure(err)
	c.Finish(ctx, failure)
	return res, failure
}

type args = map[string]any

// converted runs a convert tool and returns its document, checked.
func converted(t *testing.T, s *service, tool string, a args) json.RawMessage {
	t.Helper()
	res, failure := call(t.Context(), s.family(), tool, a)
	if failure != nil {
		require.NoError(t, failure, "%v %v", failure.Data, failure.Err)
	}
	doc, err := family.Encode(res)
	require.NoError(t, err)
	d, err := document.Decode(doc)
	require.NoError(t, err)
	require.NoError(t, document.Check(d)) // S2-CONV-06
	return doc
}

// carry are the arguments that carry data themselves.
func carry(name string, data []byte) args {
	return args{"filename": name, "content_base64": base64.StdEncoding.EncodeToString(data)}
}

// refused requires that a tool fails with a code and a reason.
func refused(t *testing.T, s *service, tool string, a any, code int64, reason string) {
	t.Helper()
	_, failure := call(t.Context(), s.family(), tool, a)
	require.NotNil(t, failure, "%s succeeded", tool)
	require.Equal(t, code, failure.Code, "%s: %v %v", failure.Message, failure.Data, failure.Err)
	require.Equal(t, reason, failure.Data["reason"], "%s: %v", failure.Message, failure.Data)
}

// refusedAt requires the stage of the failure too.
func refusedAt(t *testing.T, s *service, tool string, a any, code int64, stage, reason string) {
	t.Helper()
	refused(t, s, tool, a, code, reason)
	_, failure := call(t.Context(), s.family(), tool, a)
	require.Equal(t, stage, failure.Data["stage"])
}

// files are the files of the corpus in a format, without those made to fail.
func files(t testing.TB, extension string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(corpus, "*"+extension))
	require.NoError(t, err)
	return slices.DeleteFunc(paths, func(p string) bool { return filepath.Base(p) == "encrypted.pdf" })
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return data
}
