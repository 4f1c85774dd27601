//go:build linux || darwin || freebsd || netbsd || openbsd

package testmain_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// plantedVariable makes this program run other tests than its own.
const plantedVariable = "MAINSTAY_TEST_PLANTED"

// tests are tests for [testmain.Run].
type tests func() int

func (t tests) Run() int { return t() }

var planted = map[string]tests{
	"passes": func() int { fmt.Println("PASS"); return 0 },
	"fails": func() int {
		for i := range 300 {
			fmt.Printf("--- FAIL: Test%d (0.00s)\n", i)
			for j := range 50 {
				fmt.Fprintf(os.Stderr, "    a_test.go:%d: said\n", j)
			}
		}
		fmt.Println("FAIL")
		return 1
	},
	"fails wide": func() int { fmt.Println(strings.Repeat("é", 1<<20)); return 1 },
	"panics": func() int {
		crowd()
		for i := range 1000 {
			fmt.Println("before", i)
		}
		debug.SetTraceback("all") // as in panics of deadlocks and of late tests
		panic("deadlock: all goroutines in bubble are blocked")
	},
	"hangs": func() int {
		crowd()
		for i := range 50 {
			go different(i, func() { select {} })
		}
		for i := range 1000 {
			fmt.Println("before", i)
		}
		_ = flag.Set("test.timeout", "1s")
		_ = flag.Set("test.parallel", "8")
		var tests []testing.InternalTest
		for i := range 40 {
			tests = append(tests, testing.InternalTest{Name: fmt.Sprint("TestGroup", i), F: func(t *testing.T) {
				t.Parallel()
				t.Run("sub", func(t *testing.T) { t.Parallel(); different(20, func() { select {} }) })
			}})
		}
		testing.Main(func(string, string) (bool, error) { return true, nil }, tests, nil, nil)
		return 0
	},
	"stops":  func() int { crowd(); _ = syscall.Kill(os.Getpid(), syscall.SIGQUIT); select {} },
	"killed": func() int { fmt.Println("last"); _ = syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} },
	"starts itself": func() int {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), plantedVariable+"=fails")
		out, err := cmd.Output()
		fmt.Println(strings.Count(string(out), "\n"), err)
		return 0
	},
}

// crowd starts idle goroutines, which a dump of all shows.
func crowd() {
	for range 300 {
		go func() { select {} }()
	}
}

// different calls f with a different stack for each depth.
func different(depth int, f func()) {
	if depth == 0 {
		f()
		return
	}
	different(depth-1, f)
}

func run(t *testing.T, name string, env []string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], args...)
	cmd.Env = append(os.Environ(), plantedVariable+"="+name)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// byGoTest are the arguments that "go test" adds to every command line.
const byGoTest = "-test.paniconexit0"

// The output of a failing package is limited, whatever makes it long. The exit code is the same
// as without the limit.
func TestOutput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		code  int
		died  syscall.Signal
		wants []string
	}{
		{"passes", 0, 0, []string{"PASS\n"}},
		{
			"fails", 1, 0,
			[]string{"--- FAIL: Test0 (0.00s)\n    a_test.go:0: said\n", "--- FAIL: Test7 (0", "lines omitted: MAINSTAY_TEST_OUTPUT=all shows them", "said\nFAIL\n"},
		},
		{"fails wide", 1, 0, []string{"éé… and 2096153 bytes more\n"}},
		{"panics", 2, 0, []string{"before 0\n", "panic: deadlock: all goroutines in bubble are blocked\n\ngoroutine 1 [running]:\n", "testmain.Run(", "goroutine "}},
		{"stops", 2, 0, []string{"SIGQUIT: quit\n", "goroutine "}},
		{"killed", -1, syscall.SIGKILL, []string{"last\n"}},
		{"starts itself", 0, 0, []string{"301 exit status 1\n"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, tt.name, nil, byGoTest)
			for _, want := range tt.wants {
				require.Contains(t, out, want)
			}
			require.Less(t, strings.Count(out, "\n"), 190, "with what go test adds it is less than 200 lines")
			for l := range strings.Lines(out) {
				require.Less(t, len(l), 1100)
			}
			var exit *exec.ExitError
			if tt.code == 0 {
				require.NoError(t, err)
				return
			}
			require.ErrorAs(t, err, &exit)
			require.Equal(t, tt.code, exit.ExitCode())
			status, ok := exit.Sys().(syscall.WaitStatus)
			require.True(t, ok)
			require.Equal(t, tt.died != 0, status.Signaled())
			if tt.died != 0 {
				require.Equal(t, tt.died, status.Signal())
			}
		})
	}
}

// The output has every stack of hanging tests, equal ones once, and a selection of other
// goroutines.
func TestOutput_Hang(t *testing.T) {
	t.Parallel()
	out, err := run(t, "hangs", nil, byGoTest)
	require.ErrorContains(t, err, "exit status 2")
	_, out, found := strings.Cut(out, "panic: test timed out after 1s\n\trunning tests:\n\t\tTestGroup")
	require.True(t, found)
	first, _, _ := strings.Cut(out, "testing.tRunner(")
	require.Equal(t, 21, strings.Count(first, "testmain_test.different("), "the stack of the subtests that hang, whole")
	require.Contains(t, out, "… and 7 more like goroutine ")
	require.Contains(t, out, "… and 299 more like goroutine ")
	require.Regexp(t, "… stacks of [0-9]+ other goroutines omitted: MAINSTAY_TEST_OUTPUT=all shows them", out)
	require.Less(t, strings.Count(out, "\n"), 300)
}

// Nothing is omitted from output that a program reads, if all was requested, or in a test that
// starts its own program.
func TestOutput_Whole(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ env, args []string }{
		"as told":          {[]string{"MAINSTAY_TEST_OUTPUT=all"}, []string{byGoTest}},
		"verbose":          {nil, []string{byGoTest, "-test.v=true"}},
		"events":           {nil, []string{byGoTest, "-test.v=test2json"}},
		"measurements":     {nil, []string{byGoTest, "-test.bench=."}},
		"list":             {nil, []string{byGoTest, "-test.list=."}},
		"fuzzing":          {nil, []string{byGoTest, "-test.fuzz=F"}},
		"program of tests": {nil, []string{"-test.run=^TestProgram$", "--", "name"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, err := run(t, "fails", tt.env, tt.args...)
			require.ErrorContains(t, err, "exit status 1")
			require.Equal(t, 300*51+1, strings.Count(out, "\n"))
		})
	}
}
