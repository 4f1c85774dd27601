package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

var sharing = &Task{
	ID: "UI-2", Title: "Sharing dialog", Requirements: []string{"Links are random"},
	Criteria: []string{"a link can be withdrawn", "An e-mail is sent to each guest"}, Read: []string{"web/album.tsx"}, Change: []string{"web/share.tsx"},
	Open: []string{"API-1: List albums (ready)"},
}

func TestPlan_OfTheTask(t *testing.T) {
	t.Parallel()
	require.Equal(t, `Plan for UI-2: Sharing dialog:
1. Finish first: API-1: List albums (ready)
2. Read web/album.tsx
3. Follow security.md
4. Keep to: Links are random
5. Write a failing test for: a link can be withdrawn
6. Write a failing test for: An e-mail is sent to each guest
7. Change web/share.tsx until the tests pass
8. Report with reportTaskDone taskId=UI-2, with the result of each criterion in acceptanceCriteriaVerification`,
		Plan(Request{Text: "UI-2", Task: sharing, Advice: []string{"Follow security.md"}}))
	require.Contains(t, Plan(Request{Text: "Paint the shed"}), "no criteria are known")
}

func TestVerify_EachCriterion(t *testing.T) {
	t.Parallel()
	const code = "// withdrawLink makes a shared link useless.\nfunc withdrawLink(id string) error { return db.Delete(id) }\n"
	const mail = "for _, guest := range guests {\n\tsendEmail(guest) // each gets an e-mail\n}\n"
	for name, tt := range map[string]struct {
		Request
		want []string
	}{
		"both":           {Request{Task: sharing, Code: code + mail}, []string{"PASS - each of 2 criteria has a trace", "- found: a link can be withdrawn (line 1: ", "- found: An e-mail is sent to each guest"}},
		"one":            {Request{Task: sharing, Code: code}, []string{"FAIL - 1 of 2 criteria have no trace", "- found: a link", "- not found: An e-mail is sent to each guest (the code does not mention "}},
		"something else": {Request{Task: sharing, Code: "I like bananas"}, []string{"FAIL - 2 of 2"}},
		"no task":        {Request{Code: "I like bananas"}, []string{"FAIL - there is no criterion to look at"}},
		"no criteria":    {Request{Task: &Task{ID: "A", Title: "A"}, Code: code}, []string{"FAIL - there is no criterion to look at"}},
		"own words":      {Request{Text: "- guests get an email\n- a link is withdrawn", Code: code + mail}, []string{"PASS - each of 2"}},
		"empty words":    {Request{Text: "it is so", Code: code}, []string{"FAIL - 1 of 1"}},
		"another number": {Request{Text: "limit is 50 requests per minute", Code: "limit = 5 // requests minute"}, []string{"FAIL - 1 of 1", "(the code does not mention 50)"}},
		"the number":     {Request{Text: "limit is 50 requests per minute", Code: "limit = 50 // requests minute"}, []string{"PASS - each of 1"}},
		"with its unit":  {Request{Text: "it waits 200 ms at most", Code: "const waits = 200ms"}, []string{"PASS - each of 1"}},
		"a negation":     {Request{Text: "must not log passwords", Code: "log passwords"}, []string{"FAIL - 1 of 1", "- not found: must not log passwords (of this and line 1 only one has a negation: log passwords)"}},
		"both negations": {Request{Text: "1. must not log passwords", Code: "log(passwords)\n// never log passwords"}, []string{"PASS - each of 1 criteria has a trace in the code; nothing was run\n- found: must not"}},
		"the opposite":   {Request{Text: "log all passwords", Code: "// never log passwords"}, []string{"FAIL - 1 of 1"}},
		"number alone":   {Request{Text: "limit is 50 requests", Code: "limit(requests)\nx := 50"}, []string{"FAIL - 1 of 1"}},
		"large number":   {Request{Text: "at most 10,000 tasks", Code: "const maxTasks = 10_000"}, []string{"PASS - each of 1"}},
		"larger number":  {Request{Text: "at most 10000 tasks", Code: "const maxTasks = 1000000"}, []string{"FAIL - 1 of 1"}},
		"unfinished":     {Request{Task: sharing, Code: code + mail + "// TODO"}, []string{"FAIL - unfinished", "- found: a link"}},
		"unbalanced":     {Request{Task: sharing, Code: code + mail + "}"}, []string{"FAIL - unbalanced }"}},
	} {
		got := Verify(tt.Request)
		require.True(t, strings.HasPrefix(got, tt.want[0]), "%s: %s", name, got)
		for _, want := range tt.want[1:] {
			require.Contains(t, got, want, name)
		}
	}
}

// answers is a provider that answers with a text, or never.
type answers struct {
	text  string
	err   error
	after time.Duration
}

func (a answers) Answer(ctx context.Context, _ Request) (string, error) {
	select {
	case <-time.After(a.after):
		return a.text, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

func TestAsk_JudgesTheForm(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for want, a := range map[string]answers{
			"":                       {text: " PASS - fine\n"},
			"the answer is empty":    {text: " \n"},
			"neither":                {text: "It looks fine"},
			"broke":                  {err: errors.New("broke")},
			"no answer within 1m0s":  {text: "PASS - late", after: 2 * Timeout},
			"longer than 1048576 by": {text: "PASS - " + strings.Repeat("x", maxReply)},
		} {
			got, err := Ask(t.Context(), a, Request{Command: "verify"})
			if want == "" {
				require.NoError(t, err)
				require.Equal(t, "PASS - fine", got)
			} else {
				require.ErrorContains(t, err, want)
			}
		}
	})
}

func TestProvider_Program(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the program is a script of a shell")
	}
	name := filepath.Join(t.TempDir(), "agent.sh")
	require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\nprintf 'PASS - '\ncat\n"), 0o700)) //nolint:gosec // it is to be run
	got, err := Ask(t.Context(), New(name), Request{Command: "verify", Code: "x", Task: sharing})
	require.NoError(t, err)
	var sent Request
	require.NoError(t, json.Unmarshal([]byte(strings.TrimPrefix(got, "PASS - ")), &sent))
	require.Equal(t, Request{Command: "verify", Code: "x", Task: sharing}, sent)
	require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\nexit 3\n"), 0o700)) //nolint:gosec // it is to be run
	_, err = Ask(t.Context(), New(name), Request{Command: "plan"})
	require.ErrorContains(t, err, "the program failed")
}

type trip func(*http.Request) (*http.Response, error)

func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestProvider_Web(t *testing.T) {
	t.Parallel()
	p, ok := New("https://agent.test/verify").(*web)
	require.True(t, ok)
	status := http.StatusOK
	p.client.Transport = trip(func(r *http.Request) (*http.Response, error) {
		body, err := io.ReadAll(r.Body)
		return &http.Response{StatusCode: status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(r.Method + " " + r.URL.Path + " " + string(body)))}, err
	})
	got, err := Ask(t.Context(), p, Request{Command: "plan", Text: "t"})
	require.NoError(t, err)
	require.Equal(t, `POST /verify {"command":"plan","text":"t"}`, got)
	status = http.StatusFound
	_, err = Ask(t.Context(), p, Request{Command: "plan"})
	require.ErrorContains(t, err, "status 302")
}
