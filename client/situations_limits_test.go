package client_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/client"
	"github.com/mainstay-mcp/mainstay/client/transport"
	mcperrors "github.com/mainstay-mcp/mainstay/errors"
	"github.com/mainstay-mcp/mainstay/internal/memhttp"
	"github.com/mainstay-mcp/mainstay/internal/testmain"
	"github.com/mainstay-mcp/mainstay/jsonrpc"
)

// failuresOfOthers are the failures and limits seen in other clients
// (performance.md §2), each with the tests that show the right answer here: of
// this package, or of the folder before the dot.
var failuresOfOthers = []struct {
	failure string
	tests   string
}{
	{"go-sdk 1: a cancel in the middle of a JSON body kills the session", "TestHostileHTTPCancelMidBody transport.TestHTTPCancelMidBody"},
	{"go-sdk 2: over 16 MiB on stdio the session dies, and the next deadline is ignored", "TestOverTheLimitHoldsUpNobody TestHostileAnswers transport.TestCommandSixteenMiB"},
	{"go-sdk 3: a line of log on stdout kills the session", "TestSituations TestHostileNoise"},
	{"go-sdk 4: 1,000 levels, no id, anything undecodable kills the session", "TestHostileAnswers TestHostileNoise"},
	{"go-sdk 5: Close hangs while a call is in flight", "TestHostileCloseInFlight TestHostileHTTPCloseInFlight"},
	{"go-sdk 6, mcp-go 1: a server that does not read stdin", "TestDeafProgram TestHostileServerDoesNotRead transport.TestCommandDeaf"},
	{"go-sdk 7: an HTTP answer with another id hangs the call", "TestHostileHTTPAnswers"},
	{"go-sdk 8: no cap on SSE by default", "TestLimitsByDefault TestHostileHTTPAnswers transport.TestHTTPEndlessEvent"},
	{"go-sdk 9, mcp-go 7: a server that never answers server/discover", "TestSituations TestProbeIsBounded"},
	{"go-sdk 10: 132 KB for a notification", "TestFloodIsCheap TestHostileFlood"},
	{"go-sdk 11: the server dies, its child holds stdout", "TestHostileOrphan transport.TestCommandOrphanHoldsStdout"},
	{"mcp-go 2: ID, RESULT, CONTENT; any id on HTTP", "TestNamesInCapitals TestHostileNames TestHostileHTTPAnswers"},
	{"mcp-go 3: what cannot be decoded is dropped, the call hangs", "TestHostileAnswers TestUndecodableResults"},
	{"mcp-go 4: decoding and handlers hold up others", "TestLargeResultHoldsUpNobody TestSlowHandlerHoldsUpNoAnswer TestHostileSlowHandler"},
	{"mcp-go 5: no limits, and no option for one", "TestLimitsByDefault TestHostileAnswers TestHostileHTTPAnswers"},
	{"mcp-go 6: a cancel is not reported to a 2025 server over HTTP", "TestHostileHTTPCancelMidBody"},
	{"mcp-go 8: a killed server is a zombie until Close", "transport.TestCommandKilledMidCall"},
	{"mcp-go 9: goroutines for each call and session", "TestCostIdle"},
	{"both: two result members", "TestHostileAnswers TestHostileHTTPAnswers"},
	{"both: no default timeout", "TestHostileOtherID"},
	{"segmentio: 10 MB of brackets", "TestTenMegabytesOfBrackets"},
}

// Every row above names tests that exist.
func TestFailuresOfOthers(t *testing.T) {
	t.Parallel()
	declared := map[string]bool{}
	for prefix, folder := range map[string]string{"": ".", "transport.": "transport"} {
		files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
		require.NoError(t, err)
		for _, file := range files {
			source, err := os.ReadFile(file)
			require.NoError(t, err)
			for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`).FindAllSubmatch(source, -1) {
				declared[prefix+string(m[1])] = true
			}
		}
	}
	for _, row := range failuresOfOthers {
		for _, name := range strings.Fields(row.tests) {
			require.True(t, declared[name], "%s: there is no %s", row.failure, name)
		}
	}
}

// A result over the limit fails its call; a call beside it ends with its own
// deadline, and the next one works.
func TestOverTheLimitHoldsUpNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := connected(t)
		s.on("ping", func(jsonrpc.Request) any { return nil })
		beside := make(chan time.Duration, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			began := time.Now()
			if err := c.Ping(ctx); mcperrors.KindOf(err) != mcperrors.KindTimeout {
				t.Errorf("the call beside it: %v", err)
			}
			beside <- time.Since(began)
		}()
		answerRaw(s, `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"`+strings.Repeat("x", 16<<20)+`"}]}}`)
		_, err := c.CallTool(t.Context(), "echo", message)
		wantError{mcperrors.CodeIncompatible, mcperrors.KindTooLarge, one(mcperrors.Answered), []string{"the answer is larger than 16 MiB; raise Limits.MessageBytes"}}.check(t, err)
		require.Equal(t, 200*time.Millisecond, <-beside)
		s.result("tools/call", `{"content":[]}`)
		_, err = c.CallTool(t.Context(), "echo", message)
		require.NoError(t, err)
	})
}

// A program that stops reading its stdin: contexts hold with a full pipe, for
// large and small calls, and Close is bounded.
func TestDeafProgram(t *testing.T) {
	t.Parallel()
	c, err := dialSituation(t, "stops reading", sessionEra)
	require.NoError(t, err)
	for _, size := range []int{4 << 20, 1} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		began := time.Now()
		_, err = c.CallTool(ctx, "echo", map[string]any{"message": strings.Repeat("x", size)})
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err))
		require.Less(t, time.Since(began), 5*time.Second)
		cancel()
	}
	began := time.Now()
	_ = c.Close() // the program had to be ended
	require.Less(t, time.Since(began), 5*time.Second)
}

// Without an option a message may have 16 MiB, over every transport and in
// every form.
func TestLimitsByDefault(t *testing.T) {
	t.Parallel()
	testmain.SkipLarge(t)
	huge := `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"` + strings.Repeat("x", 16<<20) + `"}]}}`
	for name, form := range map[string]func(http.ResponseWriter, string){
		"body": writeJSON,
		"event": func(w http.ResponseWriter, text string) {
			w.Header().Set("Content-Type", "text/event-stream")
			flush(w, "data: "+text+"\n\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newLone(t)
			defer s.mem.Close()
			s.result("initialize", initResult)
			c, err := s.dial(sessionEra)
			require.NoError(t, err)
			s.on("tools/call", func(req jsonrpc.Request) any {
				return replyFunc(func(w http.ResponseWriter, _ *http.Request) {
					form(w, strings.Replace(huge, "ID", string(req.ID.AppendJSON(nil)), 1))
				})
			})
			_, err = c.CallTool(t.Context(), "echo", message)
			unusable("larger than 16 MiB").check(t, err)
			require.NoError(t, c.Close())

			wide, err := client.Connect(t.Context(), &transport.HTTP{
				URL: memhttp.URL + "/mcp", RoundTripper: s.mem.Transport(), Limits: transport.Limits{MessageBytes: 20 << 20},
			}, sessionEra)
			require.NoError(t, err)
			res, err := wide.CallTool(t.Context(), "echo", message)
			require.NoError(t, err, "the option allows more")
			require.Len(t, res.Text(), 16<<20)
			require.NoError(t, wide.Close())
		})
	}
}

// 50,000 notifications without a handler cost only their reading. Memory is counted, so
// this test runs alone.
func TestFloodIsCheap(t *testing.T) { //nolint:paralleltest // counts the allocations of the process
	count := testmain.Fewer(50_000, 10)
	c, s := connected(t)
	line := `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}` + "\n"
	flood := strings.Repeat(line, count)
	s.on("tools/call", func(req jsonrpc.Request) any {
		s.write(flood + wellAnswered(req))
		return nil
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := c.CallTool(t.Context(), "echo", message)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	// 132 KB each is what made others need seconds. The fake server's own copy
	// of the flood is in it.
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/uint64(count), uint64(2048))
	require.Less(t, (after.Mallocs-before.Mallocs)/uint64(count), uint64(20))
}

// A member named ID is not the id: the answer is nobody's, and the call ends by
// its own timeout. RESULT is no result, and fails it.
func TestNamesInCapitals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, s := connected(t)
		s.on("tools/call", func(req jsonrpc.Request) any {
			return rawLine(fmt.Sprintf(`{"jsonrpc":"2.0","ID":%s,"result":{"content":[]}}`, req.ID.AppendJSON(nil)))
		})
		_, err := c.CallTool(t.Context(), "echo", message)
		require.Equal(t, mcperrors.KindTimeout, mcperrors.KindOf(err))
		answerRaw(s, `{"jsonrpc":"2.0","id":ID,"RESULT":{"content":[]}}`)
		_, err = c.CallTool(t.Context(), "echo", message)
		require.Equal(t, mcperrors.KindProtocol, mcperrors.KindOf(err))
	})
}

// The read loop does not decode: a small answer behind a large one is there
// while the large one is still being decoded.
func TestLargeResultHoldsUpNobody(t *testing.T) {
	t.Parallel()
	c, s := connected(t)
	large, small := park(s, "tools/call"), park(s, "ping")
	order := make(chan string, 2)
	go func() {
		_, err := c.CallTool(t.Context(), "echo", message)
		order <- fmt.Sprint("large ", err)
	}()
	first := <-large
	go func() {
		err := c.Ping(t.Context())
		order <- fmt.Sprint("small ", err)
	}()
	second := <-small
	block := `{"type":"text","text":"x","annotations":{"audience":["user"]}},`
	blocks := strings.Repeat(block, testmain.Fewer(4<<20/len(block), 10))
	s.write(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[%s]}}`, first.ID.AppendJSON(nil), strings.TrimSuffix(blocks, ",")) + "\n" + wellAnswered(second))
	require.Equal(t, "small <nil>", <-order)
	require.Equal(t, "large <nil>", <-order)
}

// A handler of notifications that takes two seconds delays no answer.
func TestSlowHandlerHoldsUpNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		handled := make(chan struct{})
		c, s := connected(t, client.OnNotification(func(context.Context, jsonrpc.Notification) {
			time.Sleep(2 * time.Second)
			close(handled)
		}))
		s.on("tools/call", func(req jsonrpc.Request) any {
			return rawLine(`{"jsonrpc":"2.0","method":"notifications/x"}` + "\n" + wellAnswered(req))
		})
		began := time.Now()
		_, err := c.CallTool(t.Context(), "echo", message)
		require.NoError(t, err)
		require.Zero(t, time.Since(began))
		<-handled
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}

// Depth is counted, never descended into.
func TestTenMegabytesOfBrackets(t *testing.T) {
	t.Parallel()
	testmain.SkipLarge(t)
	brackets := strings.Repeat("[", 5<<20) + strings.Repeat("]", 5<<20)
	c, s := connected(t)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":ID,"result":` + brackets + `}`,
		`{"jsonrpc":"2.0","id":ID,"result":{"content":[],"structuredContent":` + brackets + `}}`,
		`{"jsonrpc":"2.0","id":ID,"error":{"code":1,"message":"x","data":` + strings.Repeat(`{"a":`, 1<<20) + `1` + strings.Repeat("}", 1<<20) + `}}`,
	} {
		answerRaw(s, line)
		_, err := c.CallTool(t.Context(), "echo", message)
		wantError{mcperrors.CodeIncompatible, mcperrors.KindTooLarge, one(mcperrors.Answered), []string{"nested deeper than 512 levels; raise Limits.Depth"}}.check(t, err)
	}
	require.NoError(t, c.Ping(t.Context()))
}
