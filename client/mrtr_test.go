package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
	"github.com/mainstay-mcp/mainstay/mcp"
)

// interim is a result that asks for entries, "key": request, and has a state
// unless it is empty.
func interim(state string, entries ...string) string {
	out := `{"resultType":"input_required"`
	if entries != nil {
		out += `,"inputRequests":{` + strings.Join(entries, ",") + `}`
	}
	if state != "" {
		out += `,"requestState":` + state
	}
	return out + `}`
}

const (
	wantForm   = `"form":{"method":"elicitation/create","params":` + askForm + `}`
	wantSample = `"say":{"method":"sampling/createMessage","params":` + askSample + `}`
	wantRoots  = `"roots":{"method":"roots/list"}`
)

// inRounds runs one call against a server that answers with results.
func inRounds(t *testing.T, results []string, f func(t *testing.T, rounds []round, err error), opts ...client.Option) {
	t.Helper()
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		rounds := s.script(results...)
		_, err := c.CallTool(t.Context(), "echo", hello)
		f(t, *rounds, err)
	}, opts...)
}

// needed returns the InputRequired of an error.
func needed(t *testing.T, err error) *client.InputRequired {
	t.Helper()
	var need *client.InputRequired
	require.ErrorAs(t, err, &need)
	require.Equal(t, mcperrors.KindInputRequired, mcperrors.KindOf(err))
	require.Equal(t, mcperrors.Answered, mcperrors.DeliveryOf(err))
	require.False(t, mcperrors.Retryable(err))
	return need
}

// A round repeats the call with the latest answers and the
// latest state, character by character, under a new id and a new token.
func TestRounds(t *testing.T) {
	t.Parallel()
	states := []string{`"a<b>&\u2028 \"\\/\/ \ud83d\ude00 é"`, `""`}
	var progress []string
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		rounds := s.script(interim(states[0], wantForm, wantRoots), interim("", wantSample), interim(states[1], wantForm), plainResult)
		res, err := c.CallTool(t.Context(), "echo", json.RawMessage(`{"message":"m","n":1.50}`),
			client.WithProgress(func(p mcp.ProgressParams) { progress = append(progress, p.Message) }))
		require.NoError(t, err)
		require.Equal(t, "done", res.Text())
		require.Len(t, *rounds, 4)
		ids, tokens := map[string]bool{}, map[string]bool{}
		for _, r := range *rounds {
			require.Equal(t, "echo", r.Name)
			require.Equal(t, `{"message":"m","n":1.50}`, string(r.Arguments))
			require.Contains(t, r.raw, mcp.MetaClientCapabilities)
			ids[r.id], tokens[string(r.Meta.ProgressToken)] = true, true
		}
		require.Len(t, ids, 4)
		require.Len(t, tokens, 4)
		require.NotContains(t, (*rounds)[0].raw, "inputResponses")
		require.Contains(t, (*rounds)[1].raw, `"inputResponses":{"form":`+saidForm+`,"roots":`+saidRoots+`},"requestState":`+states[0])
		require.Contains(t, (*rounds)[2].raw, `"inputResponses":{"say":`+saidSample+`}`)
		require.NotContains(t, (*rounds)[2].raw, "requestState")
		require.Contains(t, (*rounds)[3].raw, `"inputResponses":{"form":`+saidForm+`},"requestState":""`)
	}, everything...)
}

// The next call knows nothing of the rounds of the one before.
func TestRoundsAreOfOneCall(t *testing.T) {
	t.Parallel()
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		rounds := s.script(interim(`"mine"`, wantForm), plainResult)
		for range 2 {
			_, err := c.CallTool(t.Context(), "echo", hello)
			require.NoError(t, err)
		}
		require.Len(t, *rounds, 3)
		require.NotContains(t, (*rounds)[2].raw, "input")
		require.NotContains(t, (*rounds)[2].raw, "mine")
	}, everything...)
}

// What is no interim result ends the call as one.
func TestBadInterimResults(t *testing.T) {
	t.Parallel()
	for _, result := range []string{
		interim(""), `{"resultType":"input_required","inputRequests":null}`, `{"resultType":"input_required","inputRequests":[]}`,
		`{"resultType":"input_required","requestState":7}`, `{"resultType":"input_required","inputRequests":{"a":{}}}`,
		`{"resultType":"input_required","inputRequests":{"a":"roots/list"}}`,
	} {
		inRounds(t, []string{result, plainResult}, func(t *testing.T, rounds []round, err error) {
			require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err), result)
			require.Len(t, rounds, 1)
		}, everything...)
	}
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		s.result("tools/list", interim(`"s"`, wantRoots))
		_, err := c.ListTools(t.Context(), nil, client.WithCacheMode(client.CacheRefresh))
		require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err))
		require.ErrorContains(t, err, "tools/list")
	}, everything...)
	// Told by its type, not by its members.
	inRounds(t, []string{`{"resultType":"complete","content":[],"inputRequests":{"a":{"method":"roots/list"}},"requestState":"s"}`}, func(t *testing.T, rounds []round, err error) {
		require.NoError(t, err)
		require.Len(t, rounds, 1)
	}, everything...)
}

// The client finds out that it cannot answer before it calls a handler; the call is not
// repeated, and its error tells how to continue.
func TestUndeclaredInput(t *testing.T) {
	t.Parallel()
	asked := 0
	form := client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
		asked++
		return client.AcceptForm(map[string]string{"name": "x"})
	})
	for _, entry := range []string{
		wantSample, wantRoots, `"x":{"method":"foo/bar"}`, `"x":{"method":"ping"}`, `"x":{"method":"elicitation/create","params":` + askURL + `}`,
		`"x":{"method":"elicitation/create"}`, `"x":{"method":"elicitation/create","params":{"message":"m"}}`,
	} {
		inRounds(t, []string{interim(`"st"`, wantForm, entry), plainResult}, func(t *testing.T, rounds []round, err error) {
			need := needed(t, err)
			require.Len(t, need.Requests, 2)
			require.Equal(t, `"st"`, string(need.State))
			require.NotContains(t, err.Error(), "st\"", "a state is in no log")
			require.Len(t, rounds, 1)
			require.Zero(t, asked)
		}, form)
	}
	tools := strings.Replace(wantSample, `"maxTokens"`, `"tools":[{"name":"x","inputSchema":{}}],"maxTokens"`, 1)
	inRounds(t, []string{interim("", tools), plainResult}, func(t *testing.T, rounds []round, err error) {
		require.NotNil(t, needed(t, err))
		require.ErrorContains(t, err, "sampling.tools")
		require.Len(t, rounds, 1)
	}, everything...)
}

// A round's questions are open together; a refusal ends the others, a
// decline is an answer like any other.
func TestRoundsAreConcurrent(t *testing.T) {
	t.Parallel()
	var both chan struct{}
	meet := func() {
		select {
		case both <- struct{}{}:
		case <-both:
		}
	}
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		both = make(chan struct{})
		rounds := s.script(interim("", wantForm, wantSample), plainResult)
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		require.JSONEq(t, `{"action":"decline"}`, string((*rounds)[1].InputResponses["form"]))
	}, client.OnElicitForm(func(context.Context, client.FormRequest) (*mcp.ElicitResult, error) {
		meet()
		return nil, client.ErrRejected
	}), client.OnSampling(func(ctx context.Context, r client.SamplingRequest) (*mcp.CreateMessageResult, error) {
		meet()
		return sampleYes(ctx, r)
	}))
	ended := false
	inRounds(t, []string{interim("", wantForm, wantSample), plainResult}, func(t *testing.T, rounds []round, err error) {
		require.NotNil(t, needed(t, err))
		require.ErrorIs(t, err, client.ErrRejected, "SAMP-04: the caller learns why")
		require.Len(t, rounds, 1)
		synctest.Wait()
		require.True(t, ended)
	}, client.OnElicitForm(func(ctx context.Context, _ client.FormRequest) (*mcp.ElicitResult, error) {
		<-ctx.Done()
		ended = true
		return nil, ctx.Err()
	}), client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) {
		pass(time.Second)
		return nil, client.ErrRejected
	}))
}

// The number of rounds is bounded.
func TestEndlessRounds(t *testing.T) {
	t.Parallel()
	inRounds(t, []string{interim(`"again"`, wantForm)}, func(t *testing.T, rounds []round, err error) {
		require.Equal(t, `"again"`, string(needed(t, err).State))
		require.Len(t, rounds, 11, "the call and 10 rounds")
	}, everything...)
	inRounds(t, []string{interim(`"again"`, wantForm)}, func(t *testing.T, rounds []round, err error) {
		require.NotNil(t, needed(t, err))
		require.Len(t, rounds, 3)
	}, append(everything, client.WithServerLimits(client.ServerLimits{Rounds: 2}))...)
	entries := make([]string, 10_000)
	for i := range entries {
		entries[i] = fmt.Sprintf(`"k%d":{"method":"roots/list"}`, i)
	}
	inRounds(t, []string{interim("", entries...)}, func(t *testing.T, rounds []round, err error) {
		require.NotNil(t, needed(t, err))
		require.ErrorContains(t, err, "10000 questions at once are too many")
		require.Len(t, rounds, 1)
	}, everything...)
	inRounds(t, []string{interim("", wantForm)}, func(t *testing.T, rounds []round, err error) {
		require.NotNil(t, needed(t, err))
		require.ErrorContains(t, err, "3 requests for input per minute")
		require.Len(t, rounds, 4)
	}, append(everything, client.WithServerLimits(client.ServerLimits{QuestionsPerMinute: 3}))...)
}

// A state without questions asks the client to call again later: with growing pauses,
// and a bounded number of times.
func TestStateOnlyRounds(t *testing.T) {
	t.Parallel()
	for _, later := range []string{interim(`"later"`), interim(`"later"`, []string{}...), `{"resultType":"input_required","inputRequests":{},"requestState":"later"}`} {
		began := time.Time{}
		inRounds(t, []string{later, later, plainResult}, func(t *testing.T, rounds []round, err error) {
			require.NoError(t, err)
			require.Len(t, rounds, 3)
			require.Contains(t, rounds[2].raw, `"requestState":"later"`)
			require.Greater(t, time.Since(began), 3*50*time.Millisecond)
			require.Less(t, time.Since(began), 3*250*time.Millisecond)
		}, client.OnLog(nil), startsAt(&began))
	}
	inRounds(t, []string{interim(`"later"`)}, func(t *testing.T, rounds []round, err error) {
		require.Equal(t, `"later"`, string(needed(t, err).State))
		require.Len(t, rounds, 21)
	})
	// Within the caller's time.
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		s.script(interim(`"later"`))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		began := time.Now()
		_, err := c.CallTool(ctx, "echo", hello)
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err))
		require.Equal(t, 10*time.Second, time.Since(began))
	})
}

// startsAt notes when a bubble's client is made.
func startsAt(at *time.Time) client.Option {
	return client.WithIDs(func() jsonrpc.ID {
		if at.IsZero() {
			*at = time.Now()
		}
		return jsonrpc.StringID(fmt.Sprint(time.Now().UnixNano(), idCount.Add(1)))
	})
}

var idCount atomic.Int64

// What the user thinks takes no time of an attempt, only of the whole
// call, and every round is a success to the breaker.
func TestThinkingTime(t *testing.T) {
	t.Parallel()
	slow := func(thinks time.Duration) client.Option {
		return client.OnElicitForm(func(ctx context.Context, _ client.FormRequest) (*mcp.ElicitResult, error) {
			select {
			case <-time.After(thinks):
				return client.AcceptForm(map[string]string{"name": "x"})
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
	}
	quick := client.Resilience{IdleTimeout: time.Second}
	inRounds(t, []string{interim("", wantForm), plainResult}, func(t *testing.T, _ []round, err error) {
		require.NoError(t, err)
	}, slow(5*time.Minute), client.WithResilience(quick))
	inRounds(t, []string{interim("", wantForm), plainResult}, func(t *testing.T, rounds []round, err error) {
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err))
		require.Len(t, rounds, 1, "an answer in no time is no answer")
	}, slow(time.Hour))
	// All rounds together have the time of one call.
	inRounds(t, []string{interim("", wantForm), interim("", wantForm), interim("", wantForm), plainResult}, func(t *testing.T, rounds []round, err error) {
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err))
		require.Len(t, rounds, 3)
	}, slow(4*time.Minute))

	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		s.script(interim("", wantForm), interim("", wantForm), plainResult)
		before := c.Breaker().Snapshot().Successes
		_, err := c.CallTool(t.Context(), "echo", hello)
		require.NoError(t, err)
		require.Equal(t, before+3, c.Breaker().Snapshot().Successes)
	}, slow(time.Second))
}

// The call's end is the handlers' end, and Close ends both.
func TestCallEndsItsHandlers(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(cancel context.CancelFunc, c *client.Client){
		"cancel": func(cancel context.CancelFunc, _ *client.Client) { cancel() },
		"close":  func(_ context.CancelFunc, c *client.Client) { _ = c.Close() },
	} {
		ended := false
		speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
			rounds := s.script(interim("", wantForm), plainResult)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			time.AfterFunc(time.Second, func() { end(cancel, c) })
			_, err := c.CallTool(ctx, "echo", hello)
			want := mcperrors.KindCanceled
			if name == "close" {
				want = mcperrors.KindClosed
			}
			require.Equal(t, want, mcperrors.KindOf(err), "%s: %v", name, err)
			synctest.Wait()
			require.True(t, ended)
			require.Len(t, *rounds, 1)
		}, client.OnElicitForm(func(ctx context.Context, _ client.FormRequest) (*mcp.ElicitResult, error) {
			<-ctx.Done()
			ended = true
			return nil, ctx.Err()
		}))
	}
}

// An application may drive the loop itself, even from another process.
func TestManualInput(t *testing.T) {
	t.Parallel()
	offer := client.WithCapabilities(mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapability{}})
	var stored []byte
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		rounds := s.script(interim(`"st<\u2028"`, wantForm), interim(`"two"`), plainResult)
		_, err := c.CallTool(t.Context(), "echo", hello, client.WithManualInput())
		need := needed(t, err)
		require.NoError(t, need.Reason)
		require.Equal(t, mcp.MethodElicitationCreate, need.Requests["form"].Method)
		stored, err = jsonrpc.Marshal(need)
		require.NoError(t, err)
		var restored client.InputRequired
		require.NoError(t, jsonrpc.Unmarshal(stored, &restored))
		require.Equal(t, need.State, restored.State)
		_, err = c.CallTool(t.Context(), "echo", hello, client.WithManualInput(),
			restored.Answer(mcp.InputResponses{"form": json.RawMessage(saidForm)}))
		second := needed(t, err)
		require.Empty(t, second.Requests)
		require.Contains(t, (*rounds)[1].raw, `"inputResponses":{"form":`+saidForm+`},"requestState":"st<\u2028"`)
		_, err = c.CallTool(t.Context(), "echo", hello, second.Answer(nil))
		require.NoError(t, err)
		require.Contains(t, (*rounds)[2].raw, `"requestState":"two"`)
		require.NotContains(t, (*rounds)[2].raw, "inputResponses")
	}, offer)
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		calls := s.count("tools/call")
		for _, opt := range []client.CallOption{
			(&client.InputRequired{}).Answer(mcp.InputResponses{"a": json.RawMessage(`7`)}), (&client.InputRequired{}).Answer(mcp.InputResponses{"a": json.RawMessage(`{`)}),
			(&client.InputRequired{State: json.RawMessage(`{}`)}).Answer(nil), (&client.InputRequired{State: json.RawMessage(`"`)}).Answer(nil),
		} {
			_, err := c.CallTool(t.Context(), "echo", hello, opt)
			require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
			require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		}
		require.Equal(t, calls, s.count("tools/call"))
	})
	// The session era has no rounds.
	speaking(t, "2025-11-25", func(t *testing.T, c *client.Client, _ *fakeServer) {
		_, err := c.CallTool(t.Context(), "echo", hello, (&client.InputRequired{State: json.RawMessage(`"s"`)}).Answer(nil))
		require.Equal(t, mcperrors.KindInvalidArguments, mcperrors.KindOf(err))
	})
}

// The other two methods that may ask. A result that answered a question is not cached.
func TestPromptsAndResourcesAskToo(t *testing.T) {
	t.Parallel()
	speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
		asks := 0
		answer := func(final string) answerFunc {
			return func(req jsonrpc.Request) any {
				if strings.Contains(string(req.Params), "inputResponses") {
					return json.RawMessage(final)
				}
				asks++
				return json.RawMessage(interim(`"s"`, wantForm))
			}
		}
		s.on("prompts/get", answer(`{"resultType":"complete","messages":[]}`))
		s.on("resources/read", answer(`{"resultType":"complete","ttlMs":600000,"cacheScope":"private","contents":[{"uri":"a:b","text":"t"}]}`))
		_, err := c.GetPrompt(t.Context(), "p", nil)
		require.NoError(t, err)
		for range 2 {
			_, err = c.ReadResource(t.Context(), "a:b")
			require.NoError(t, err)
		}
		require.Equal(t, 3, asks)
		require.Equal(t, 4, s.count("resources/read"))
		// By hand, too, past the cache: a state is one call's.
		_, err = c.ReadResource(t.Context(), "a:b", client.WithManualInput())
		need := needed(t, err)
		_, err = c.ReadResource(t.Context(), "a:b", need.Answer(mcp.InputResponses{"form": json.RawMessage(saidForm)}))
		require.NoError(t, err)
		_, err = c.ReadResource(t.Context(), "a:b")
		require.NoError(t, err)
		require.Equal(t, 5, asks)
	}, everything...)
}

// A handler's own error is the reason of the call's.
func TestInputErrorsUnwrap(t *testing.T) {
	t.Parallel()
	broken := errors.New("no model today")
	inRounds(t, []string{interim("", wantSample), plainResult}, func(t *testing.T, rounds []round, err error) {
		require.ErrorIs(t, err, broken)
		require.ErrorIs(t, needed(t, err).Reason, broken)
		require.Len(t, rounds, 1)
	}, client.OnSampling(func(context.Context, client.SamplingRequest) (*mcp.CreateMessageResult, error) { return nil, broken }))
}

// What a caller of Call writes into the params by hand belongs
// to one round, like everything that answers a server: the next has its own.
func TestInputInRawParams(t *testing.T) {
	t.Parallel()
	const given = `"inputResponses":{"a":{"action":"cancel"}}`
	for _, method := range []string{mcp.MethodToolsCall, mcp.MethodPromptsGet, mcp.MethodResourcesRead} {
		speaking(t, "2026-07-28", func(t *testing.T, c *client.Client, s *fakeServer) {
			var params []string
			answers := []string{interim(`"s2"`, wantForm), interim(`"s3"`), plainResult}
			s.on(method, func(req jsonrpc.Request) any {
				params = append(params, string(req.Params))
				return json.RawMessage(answers[len(params)-1])
			})
			_, err := c.Call(t.Context(), method, json.RawMessage(`{"requestState":"s1","name":"echo","uri":"test://a",`+given+`,"_meta":{"example.com/a":1}}`))
			require.NoError(t, err)
			require.Len(t, params, 3)
			for i, text := range params {
				require.Equal(t, 1, strings.Count(text, `"requestState"`), text)
				require.Contains(t, text, fmt.Sprintf(`"requestState":"s%d"`, i+1))
				require.Equal(t, i == 0, strings.Contains(text, given), text)
				require.Contains(t, text, `"name":"echo","uri":"test://a"`)
				require.Contains(t, text, `"example.com/a":1`)
			}
			_, err = c.Call(t.Context(), method, json.RawMessage(`{"name":"echo","requestState":"s1"}`), (&client.InputRequired{State: json.RawMessage(`"s1"`)}).Answer(nil))
			require.ErrorContains(t, err, "both", method)
			require.Equal(t, mcperrors.NotSent, mcperrors.DeliveryOf(err))
		}, everything...)
	}
	// Elsewhere the names mean nothing.
	speaking(t, "2025-11-25", func(t *testing.T, c *client.Client, s *fakeServer) {
		s.result("acme/do", `{}`)
		_, err := c.Call(t.Context(), "acme/do", json.RawMessage(`{"requestState":"s1","name":"echo"}`))
		require.NoError(t, err)
		require.Contains(t, s.received()[len(s.received())-1], `{"requestState":"s1","name":"echo"}`)
	})
}
