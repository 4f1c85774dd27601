package preflights

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/llm"
	"github.com/mainstay-mcp/mainstay/conformance/server/family"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

// rig is the family on a repository of its own, with its logs captured.
type rig struct {
	*service
	root string
	logs *logs
}

type logs struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newRepo(t testing.TB) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(root, ".git"), 0o755))
	return root
}

func newRig(t testing.TB) *rig {
	t.Helper()
	root := newRepo(t)
	s, err := newService(Options{WorkDir: root})
	require.NoError(t, err)
	return &rig{service: s, root: root, logs: &logs{}}
}

// with replaces the provider.
func (r *rig) with(p llm.Provider) *rig {
	r.model = llm.NewFallback(p)
	return r
}

// answer is every form an answer of the tools has.
type answer struct {
	Status    string
	SessionID string `json:"session_id"`
	Questions []map[string]any
	Progress  struct {
		Asked    int `json:"asked_so_far"`
		Answered int
	}
	Created []struct {
		Path, Type, UID string
	} `json:"artifacts_created"`
	Archived     *struct{ Path, UID string }
	Summary      string
	Repository   string
	Warning      string
	Message      string
	Architecture struct {
		UID        *string
		Categories map[string]map[string]string
	}
	SourceFile string `json:"source_file"`
	Error      struct {
		Code, Message string
		Details       map[string]any
		Hint          string `json:"recovery_hint"`
	}

	isError bool
	text    string
}

func (a *answer) ids() []string {
	var out []string
	for _, q := range a.Questions {
		id, _ := q["id"].(string)
		out = append(out, id)
	}
	return out
}

func (a *answer) paths() []string {
	var out []string
	for _, c := range a.Created {
		out = append(out, c.Type)
	}
	return out
}

type args map[string]any

// try runs a tool as the server does.
func (r *rig) try(t testing.TB, tool string, in args) (*answer, *family.Error) {
	t.Helper()
	raw, err := json.Marshal(in)
	require.NoError(t, err)
	handle := r.clarifyTool().Handle
	if tool == "read_architecture" {
		handle = r.readTool().Handle
	}
	call := family.NewCall(tool, raw, slog.New(slog.NewJSONHandler(r.logs, nil)))
	res, err := handle(t.Context(), call)
	fail := (&family.Family{}).Failure(err)
	call.Finish(t.Context(), fail)
	if fail != nil {
		return nil, fail
	}
	out := &answer{}
	if wrapped, ok := res.(*family.Result); ok {
		out.isError, res = wrapped.IsError, wrapped.Payload
	}
	text, err := family.Encode(res)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, out))
	out.text = string(text)
	return out, nil
}

// outcome is like clarify, for other goroutines than the test's: what went
// wrong stands in the answer.
func (r *rig) outcome(ctx context.Context, in args) *answer {
	raw, err := json.Marshal(in)
	if err != nil {
		return &answer{text: err.Error()}
	}
	res, err := r.clarifyTool().Handle(ctx, family.NewCall("require_clarification", raw, slog.New(slog.DiscardHandler)))
	if err != nil {
		return &answer{text: err.Error()}
	}
	if wrapped, ok := res.(*family.Result); ok {
		res = wrapped.Payload
	}
	text, err := family.Encode(res)
	out := &answer{text: string(text)}
	if err == nil {
		err = json.Unmarshal(text, out)
	}
	if err != nil {
		return &answer{text: err.Error()}
	}
	return out
}

func (r *rig) call(t testing.TB, tool string, in args) *answer {
	t.Helper()
	out, fail := r.try(t, tool, in)
	require.Nil(t, fail)
	return out
}

func (r *rig) clarify(t testing.TB, in args) *answer {
	t.Helper()
	return r.call(t, "require_clarification", in)
}

func (r *rig) read(t testing.TB) *answer {
	t.Helper()
	return r.call(t, "read_architecture", args{})
}

// run does a whole session, answering by id or else with the first option.
func (r *rig) run(t testing.TB, intention string, answers args, more ...args) *answer {
	t.Helper()
	in := args{"user_intention": intention}
	for _, m := range more {
		for k, v := range m {
			in[k] = v
		}
	}
	first := r.clarify(t, in)
	require.Equal(t, "needs_clarification", first.Status, first.text)
	given := args{}
	for _, q := range first.Questions {
		id, _ := q["id"].(string)
		given[id] = firstAnswer(q)
	}
	for k, v := range answers {
		given[k] = v
	}
	in["session_id"], in["answers"] = first.SessionID, given
	return r.clarify(t, in)
}

func firstAnswer(q map[string]any) any {
	options, _ := q["options"].([]any)
	switch q["type"] {
	case "single_choice":
		return options[0]
	case "multi_choice":
		return options[:1]
	}
	return "As agreed"
}

var authAnswers = args{"auth_strategy": "OAuth", "auth_library": "next-auth"}

func (r *rig) file(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(r.root, filepath.FromSlash(name)))
	require.NoError(t, err)
	return string(data)
}

func (r *rig) write(t testing.TB, name, text string) {
	t.Helper()
	name = filepath.Join(r.root, filepath.FromSlash(name))
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.RemoveAll(name))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}

func (r *rig) names(t testing.TB, folder string) []string {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(r.root, filepath.FromSlash(folder)))
	if os.IsNotExist(err) {
		return nil
	}
	require.NoError(t, err)
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

// hash is that of all names, modes and contents below dir.
func hash(t testing.TB, dir string) string {
	t.Helper()
	sum := sha256.New()
	require.NoError(t, filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sum.Write([]byte(p + info.Mode().String()))
		if d.Type().IsRegular() {
			data, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			sum.Write(data)
		}
		return nil
	}))
	return hex.EncodeToString(sum.Sum(nil))
}
