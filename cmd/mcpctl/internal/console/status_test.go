package console

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/mainstay-mcp/mainstay/cmd/mcpctl/internal/visible"
	"github.com/mainstay-mcp/mainstay/mcp"
)

func consoleOn(terminal bool, out *bytes.Buffer) *Console {
	return New(Streams{Err: out, ErrTerminal: terminal, Width: 80}, &Settings{Format: Human, Color: "never"})
}

// taken returns what has been written since the last time, in step with the
// goroutine that writes.
func taken(c *Console, out *bytes.Buffer) string {
	mu := &c.Err.(*pipe).mu
	mu.Lock()
	defer mu.Unlock()
	defer out.Reset()
	return out.String()
}

func TestStatusLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := consoleOn(true, &out)
		s := c.NewStatus()
		s.Begin("calling echo")
		time.Sleep(statusDelay - time.Millisecond)
		synctest.Wait()
		require.Empty(t, taken(c, &out), "what is quick is not talked about")
		total := 4.0
		s.Progress(mcp.ProgressParams{Progress: 1, Total: &total, Message: "a\x1b[2Jb"})
		time.Sleep(time.Millisecond)
		synctest.Wait()
		require.Equal(t, "\r\x1b[Kcalling echo · 0 s · [#####...............] 1/4 · a␛[2Jb", taken(c, &out))
		s.Log(mcp.LoggingMessageParams{Level: "info", Logger: "db", Data: []byte(`"opened\u001b"`)})
		require.Equal(t, "\r\x1b[Kinfo db: opened\\u001b\n", taken(c, &out), "the line makes room")
		time.Sleep(statusDelay)
		synctest.Wait()
		s.End()
		s.End()
		require.True(t, strings.HasSuffix(taken(c, &out), "\r\x1b[K"), "nothing is left of it")
	})
}

// A long command line does not push the time off a narrow terminal.
func TestStatusKeepsTheTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := consoleOn(true, &out)
		c.Width = 40
		s := c.NewStatus()
		s.Begin("starting npx -y @modelcontextprotocol/server-everything stdio")
		time.Sleep(statusDelay + time.Millisecond)
		synctest.Wait()
		require.Equal(t, "\r\x1b[Kstarting npx -y @modelcontextpr… · 0 s", taken(c, &out))
		s.End()
	})
}

// What is started is shown at once, because it may take long; in a pipe after some seconds.
func TestStatusOfAStart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := consoleOn(true, &out)
		s := c.NewStatus()
		s.BeginStart("starting npx")
		require.Equal(t, "\r\x1b[Kstarting npx · 0 s", taken(c, &out))
		s.End()
		require.Equal(t, "\r\x1b[K", taken(c, &out))

		c = consoleOn(false, &out)
		s = c.NewStatus()
		s.BeginStart("starting npx")
		time.Sleep(startDelay - time.Millisecond)
		synctest.Wait()
		require.Empty(t, taken(c, &out))
		time.Sleep(pipeDelay + 2*time.Millisecond)
		synctest.Wait()
		s.End()
		require.Equal(t, "starting npx · 3 s\nstarting npx · 18 s\n", taken(c, &out))
	})
}

// Wide characters take two columns: a line that is too long would wrap, and stay.
func TestStatusOfWideText(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := consoleOn(true, &out)
		c.Width = 40
		s := c.NewStatusAtOnce(strings.Repeat("名", 40))
		s.Begin("conform")
		line := strings.TrimPrefix(taken(c, &out), "\r\x1b[K")
		require.Contains(t, line, "conform · 0 s · 名")
		require.Less(t, visible.Width(line), 40)
		s.End()
	})
}

func TestStatusInAPipe(t *testing.T) {
	t.Parallel()
	for format, want := range map[string]string{
		Human: "starting npx · 15 s\nstarting npx · 30 s · 1\n", JSON: "", NDJSON: "",
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			c := consoleOn(false, &out)
			c.Format = format
			s := c.NewStatus()
			s.Begin("starting npx")
			time.Sleep(pipeDelay)
			synctest.Wait()
			s.Set("1")
			time.Sleep(pipeDelay + time.Second)
			s.End()
			require.Equal(t, want, taken(c, &out))
		})
	}
}

// On a narrow terminal the time and the counter stay; the bar goes, and the message is cut.
func TestStatusOfNarrowProgress(t *testing.T) {
	t.Parallel()
	total := 30.0
	for _, tt := range []struct {
		width int
		want  string
	}{
		{80, "calling slowprog · 0 s · [##..................] 3/30 · step three of thirty"},
		{60, "calling slowprog · 0 s · 3/30 · step three of thirty"},
		{40, "calling sl… · 0 s · 3/30 · step three…"},
		{28, "calling sl… · 0 s · 3/30"},
	} {
		synctest.Test(t, func(t *testing.T) {
			var out bytes.Buffer
			c := consoleOn(true, &out)
			c.Width = tt.width
			s := c.NewStatus()
			s.Begin("calling slowprog")
			s.Progress(mcp.ProgressParams{Progress: 3, Total: &total, Message: "step three of thirty"})
			time.Sleep(statusDelay + time.Millisecond)
			synctest.Wait()
			require.Equal(t, "\r\x1b[K"+tt.want, taken(c, &out))
			s.End()
		})
	}
}
