package main

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/mcp"
)

func statusApp(terminal bool, out *bytes.Buffer) *app {
	a := testApp(formatHuman)
	a.errTerminal, a.width, a.stderr = terminal, 80, &pipe{w: out}
	return a
}

// taken returns what has been written since the last time, in step with the
// goroutine that writes.
func taken(a *app, out *bytes.Buffer) string {
	a.stderr.mu.Lock()
	defer a.stderr.mu.Unlock()
	defer out.Reset()
	return out.String()
}

func TestStatusLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		a := statusApp(true, &out)
		s := a.newStatus()
		s.begin("calling echo")
		time.Sleep(statusDelay - time.Millisecond)
		synctest.Wait()
		require.Empty(t, taken(a, &out), "what is quick is not talked about")
		total := 4.0
		a.progress(s, mcp.ProgressParams{Progress: 1, Total: &total, Message: "a\x1b[2Jb"})
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, "\r\x1b[Kcalling echo · 0 s · [#####...............] 1/4 · a␛[2Jb", taken(a, &out))
		a.log(s, mcp.LoggingMessageParams{Level: "info", Logger: "db", Data: []byte(`"opened\u001b"`)})
		require.Equal(t, "\r\x1b[Kinfo db: opened\\u001b\n", taken(a, &out), "the line makes room")
		time.Sleep(statusDelay)
		synctest.Wait()
		s.end()
		s.end()
		require.True(t, strings.HasSuffix(taken(a, &out), "\r\x1b[K"), "nothing is left of it")
	})
}

func TestNoStatusLineInAPipe(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := statusApp(false, &out).newStatus()
		s.begin("calling echo")
		time.Sleep(time.Minute)
		s.end()
		require.Empty(t, out.String())
	})
}
