package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/adr"
	"github.com/mainstay-mcp/mainstay/conformance/families/preflights/question"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
)

func TestMain(m *testing.M) { testmain.Run(m) }

const key = "sk-test-0123456789abcdef"

// reply is how each vendor wraps a model's text.
func reply(vendor, text string) string {
	quoted, _ := json.Marshal(text)
	if vendor == "anthropic" {
		return `{"content":[{"type":"text","text":` + string(quoted) + `}]}`
	}
	return `{"choices":[{"message":{"content":` + string(quoted) + `}}]}`
}

func TestRemote_SpeaksToEachVendor(t *testing.T) {
	t.Parallel()
	for vendor, path := range map[string]string{"anthropic": "/v1/messages", "openai": "/v1/chat/completions", "openrouter": "/v1/chat/completions"} {
		t.Run(vendor, func(t *testing.T) {
			t.Parallel()
			text := "Sure!\n```json\n" + `{"questions":[{"id":"db","type":"single_choice","question":"Which?","options":["A","Other"]}],"missing_info":["db"],"decision_hint":"adr"}` + "\n```"
			bodies := make(chan string, 2)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies <- r.Method + " " + r.URL.Path + " " + r.Header.Get("Authorization") + r.Header.Get("X-Api-Key") + " " + string(body)
				_, _ = io.WriteString(w, reply(vendor, text))
			}))
			defer server.Close()
			f, err := New(ConfigFromEnv(func(name string) string {
				switch name {
				case "PREFLIGHTS_LLM_PROVIDER":
					return vendor
				case "PREFLIGHTS_LLM_MODEL":
					return "the-model"
				case "PREFLIGHTS_LLM_BASE_URL":
					return server.URL + "/"
				case strings.ToUpper(vendor) + "_API_KEY":
					return key
				}
				return ""
			}))
			require.NoError(t, err)
			f.provider.(*remote).client = server.Client()
			got, cause, err := f.Questions(t.Context(), Request{Intention: "Add a database", Context: "password: hunter22"}, false)
			require.NoError(t, err)
			require.NoError(t, cause)
			require.Equal(t, []question.Question{{ID: "db", Type: question.SingleChoice, Text: "Which?", Options: []string{"A", question.Other}}}, got.Questions)
			require.Equal(t, "adr", got.DecisionHint)
			sent := <-bodies
			require.Contains(t, sent, "POST "+path)
			require.Contains(t, sent, key)
			require.Contains(t, sent, `"model":"the-model"`)
			require.NotContains(t, sent, "hunter22") // S3-LLM-05

			text = `{"title":"Data","categories":{"database":{"Type":"PostgreSQL"},"Money":{"Provider":"Stripe"}}}`
			d, cause, err := f.Extract(t.Context(), Request{Answers: question.Answers{"db": {"token=abcdefgh"}}}, false)
			require.NoError(t, err)
			require.NoError(t, cause)
			require.Equal(t, Decision{Title: "Data", Patch: adr.Patch{"Database": {"Type": "PostgreSQL"}, "Other": {"Money_Provider": "Stripe"}}}, d)
			require.NotContains(t, <-bodies, "abcdefgh")
		})
	}
}

// TestRemote_S3_Q_01_AsksAtMostFive: a model that asks more is cut short, not
// obeyed and not refused.
func TestRemote_S3_Q_01_AsksAtMostFive(t *testing.T) {
	t.Parallel()
	var asked []string
	for i := range question.Max + 2 {
		asked = append(asked, fmt.Sprintf(`{"id":"q%d","type":"free_text","question":"?"}`, i))
	}
	f := withTransport(t, func(*http.Request) (*http.Response, error) {
		text := reply("openai", `{"questions":[`+strings.Join(asked, ",")+`]}`)
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(text)), Header: http.Header{}}, nil
	})
	got, cause, err := f.Questions(t.Context(), Request{Intention: "x"}, false)
	require.NoError(t, err)
	require.NoError(t, cause)
	require.Len(t, got.Questions, question.Max)
	require.Equal(t, "q4", got.Questions[4].ID)
}

func TestRemote_BadRepliesFallBack(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no JSON": "I cannot", "no questions": `{"questions":[]}`, "form": `{"questions":"x"}`,
		"type": `{"questions":[{"id":"a","type":"radio","question":"?"}]}`, "id": `{"questions":[{"id":"A B","type":"free_text","question":"?"}]}`,
		"twice": `{"questions":[{"id":"a","type":"free_text","question":"?"},{"id":"a","type":"free_text","question":"?"}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := withTransport(t, func(*http.Request) (*http.Response, error) {
					return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(reply("openai", text))), Header: http.Header{}}, nil
				})
				got, cause, err := f.Questions(t.Context(), Request{Intention: "x"}, false)
				require.NoError(t, err)
				require.Error(t, cause)
				require.Equal(t, "acceptance_criteria", got.Questions[0].ID)
			})
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return r(req) }

func withTransport(t *testing.T, rt roundTrip) *Fallback {
	t.Helper()
	f, err := New(Config{Provider: "openai", APIKey: key, Client: &http.Client{Transport: rt}})
	require.NoError(t, err)
	return f
}

func TestFallback_S3_LLM_02_ThreeAttempts(t *testing.T) {
	t.Parallel()
	for name, rt := range map[string]roundTrip{
		"status": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusInternalServerError, Body: http.NoBody}, nil
		},
		"network": func(*http.Request) (*http.Response, error) { return nil, errors.New("refused, key " + key) },
		"broken": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: broken{}}, nil
		},
		"form": func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
		},
		"silence": func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var calls atomic.Int32
				f := withTransport(t, func(r *http.Request) (*http.Response, error) {
					calls.Add(1)
					return rt(r)
				})
				begin := time.Now()
				got, cause, err := f.Questions(t.Context(), Request{Intention: "Add authentication", ADR: true}, false)
				require.NoError(t, err)
				require.Error(t, cause)
				require.NotContains(t, cause.Error(), key)
				require.EqualValues(t, 3, calls.Load())
				require.Equal(t, "auth_strategy", got.Questions[0].ID)
				if name == "silence" {
					require.Equal(t, 3*CallTimeout+3*firstPause, time.Since(begin))
				}
				_, cause, err = f.Questions(t.Context(), Request{Intention: "x"}, true)
				require.NoError(t, err)
				require.NoError(t, cause)
				require.EqualValues(t, 3, calls.Load(), "the mock alone, when asked for")
			})
		})
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
func (broken) Close() error             { return nil }

func TestFallback_CallerLeaves(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for _, after := range []time.Duration{time.Second, CallTimeout + firstPause/2} { // in an attempt, in a pause
			f := withTransport(t, func(r *http.Request) (*http.Response, error) { <-r.Context().Done(); return nil, r.Context().Err() })
			ctx, cancel := context.WithTimeout(t.Context(), after)
			_, _, err := f.Extract(ctx, Request{}, false)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			cancel()
		}
	})
}

func TestFallback_S3_LLM_04_NothingEvenFromTheMock(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := withTransport(t, func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(reply("openai", `{"categories":{}}`)))}, nil
		})
		_, cause, err := f.Extract(t.Context(), Request{Intention: "?", Answers: question.Answers{"decision": {"..."}}}, false)
		require.ErrorIs(t, cause, ErrNothing)
		require.ErrorIs(t, err, ErrNothing)
	})
}

func TestNew_Misconfigured(t *testing.T) {
	t.Parallel()
	_, err := New(Config{Provider: "opnai"})
	require.ErrorContains(t, err, "known: mock, anthropic, openai, openrouter")
	_, err = New(Config{Provider: "openai"})
	require.ErrorContains(t, err, "OPENAI_API_KEY")
	f, err := New(ConfigFromEnv(func(string) string { return "" }))
	require.NoError(t, err)
	require.Nil(t, f.provider, "S3-LLM-05: the default has no network")
}

func TestRemote_NoRedirectCarriesTheKey(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int32
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer thief.Close()
	server := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	r := newRemote(vendors["openai"], Config{APIKey: key, BaseURL: server.URL})
	_, err := r.complete(t.Context(), "", "")
	require.ErrorContains(t, err, "307")
	require.Zero(t, stolen.Load())
	r.config.BaseURL = ":"
	_, err = r.complete(t.Context(), "", "")
	require.Error(t, err)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
}

func TestMock_EveryQuestionIsSound(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, topic := range topics {
		require.NotEmpty(t, topic.key)
		require.LessOrEqual(t, topic.required(), question.Max)
		for _, q := range topic.questions {
			require.NoError(t, q.Check())
			require.False(t, seen[q.ID], q.ID)
			seen[q.ID] = true
		}
	}
	d, err := Mock{}.Extract(t.Context(), Request{Answers: question.Answers{"framework_layer": {"Frontend"}, "framework_name": {"React"}, "messaging_technology": {"Kafka"}}})
	require.NoError(t, err)
	require.Equal(t, Decision{"Frontend and Messaging", adr.Patch{"Frontend": {"Framework": "React"}, "Messaging": {"Broker": "Kafka"}}}, d)
	_, err = Mock{}.Extract(t.Context(), Request{Answers: question.Answers{"messaging_technology": {"?"}}})
	require.ErrorIs(t, err, ErrNothing)
	d, err = Mock{}.Extract(t.Context(), Request{Intention: "日本", Answers: question.Answers{"decision": {"yes"}}})
	require.NoError(t, err)
	require.Equal(t, adr.Patch{"Other": {"日本": "yes"}}, d.Patch)
}

func TestRedact(t *testing.T) {
	t.Parallel()
	pem := "-----BEGIN RSA " + "PRIVATE KEY-----\nabc\n-----END RSA " + "PRIVATE KEY-----"
	for in, want := range map[string]string{
		"nothing secret": "nothing secret",
		"use sk-" + "ant-0123456789abcdef please": "use [redacted] please",
		"ghp_" + "0123456789abcdefghij":           "[redacted]",
		"AKIA" + "ABCDEFGHIJKLMNOP":               "[redacted]",
		"Authorization: Bearer abc.def-ghi":       "Authorization: Bearer [redacted]",
		"postgres://me:secret@host/db":            "postgres://me:[redacted]@host/db",
		"DB_PASSWORD=hunter2; next":               "DB_PASSWORD=[redacted]; next",
		`{"api_key": "abc def"}`:                  `{"api_key": [redacted]}`,
		pem:                                       "[redacted]",
		"eyJhbGciOiJI.eyJzdWIi.sig":               "[redacted]",
		"tokens are stored in cookies":            "tokens are stored in cookies",
	} {
		require.Equal(t, want, Redact(in))
	}
}

func FuzzRedact(f *testing.F) {
	f.Add("a", "password=x")
	f.Fuzz(func(t *testing.T, before, after string) {
		got := Redact(before + " " + "ghp_" + "0123456789abcdefghij " + after)
		require.NotContains(t, got, "0123456789abcdefghij ")
	})
}
