package report

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"time"

	"github.com/mainstay-mcp/mainstay/bench/internal/clients"
	"github.com/mainstay-mcp/mainstay/bench/internal/workload"
)

// Filter keeps the groups whose name contains part.
func Filter(groups []Group, part string) []Group {
	var kept []Group
	for _, g := range groups {
		if strings.Contains(g.Cell.Name(), part) {
			kept = append(kept, g)
		}
	}
	return kept
}

// Command is how to get the same table again.
func Command(args []string) string {
	command := "cd bench && go run ."
	for _, arg := range args {
		if strings.Contains(arg, " ") {
			arg = "'" + arg + "'"
		}
		command += " " + arg
	}
	return command
}

// Print writes the machine and the versions, the table, and the goals. It
// returns how many exact goals do not hold.
func Print(ctx context.Context, w io.Writer, outcomes []Outcome, command string) (missed int, err error) {
	if _, err := fmt.Fprintf(w, "%s\nCommand: `%s`\n\n", machine(ctx), command); err != nil {
		return 0, err
	}
	if err := Table(w, outcomes); err != nil {
		return 0, err
	}
	return Goals(w, outcomes)
}

func machine(ctx context.Context) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Measured %s: %s, %s/%s, %d cores, %s", time.Now().UTC().Format(time.DateOnly), runtime.Version(),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor())
	if load, err := os.ReadFile("/proc/loadavg"); err == nil {
		fmt.Fprintf(&b, ", load at the end %s", strings.Join(strings.Fields(string(load))[:3], " "))
	}
	b.WriteString(".\nVersions:")
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			switch m.Path {
			case "github.com/modelcontextprotocol/go-sdk", "github.com/mark3labs/mcp-go":
				fmt.Fprintf(&b, " %s %s;", m.Path, m.Version)
			}
		}
	}
	return b.String() + " Mainstay at " + revision(ctx) + "."
}

// revision asks git, since go run stamps none into the program.
func revision(ctx context.Context) string {
	out, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty", "--abbrev=12").Output()
	if err != nil {
		return "an unknown revision"
	}
	return strings.TrimSpace(string(out))
}

func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown processor"
	}
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown processor"
}

// Profile writes a CPU and an allocation profile of Mainstay for each group.
func Profile(ctx context.Context, self string, groups []Group, folder string, out io.Writer) error {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, g := range groups {
		c := g.Cell
		c.Client = clients.Mainstay
		base := filepath.Join(folder, strings.NewReplacer(" ", "-", ",", "").Replace(c.Name()))
		for _, kind := range []string{".cpu.pprof", ".allocs.pprof"} {
			c.CPUProfile, c.HeapProfile = "", base+kind
			if kind == ".cpu.pprof" {
				c.CPUProfile, c.HeapProfile = base+kind, ""
			}
			if r := RunChild(ctx, self, c); r.Err != "" {
				return fmt.Errorf("%s: %s", c.Name(), r.Err)
			}
			fmt.Fprintf(out, "%s\n", base+kind)
		}
	}
	return nil
}

// find returns the outcome of a cell, whatever its client.
func find(outcomes []Outcome, want workload.Cell) (Outcome, bool) {
	for _, o := range outcomes {
		c := o.Cell
		if c.Workload == want.Workload && c.Variant == want.Variant && c.Transport == want.Transport &&
			c.Modern == want.Modern && (want.N == 0 || c.N == want.N) {
			return o, true
		}
	}
	return Outcome{}, false
}
