package testmain

import (
	"flag"
	"os"
	"os/exec"
	"time"
)

// outputVariable is an environment variable. If it is "all", tests print all their output.
const outputVariable = "MAINSTAY_TEST_OUTPUT"

// lastWords limits the wait for the filter. The filter ends when its pipe is closed, which a
// program that outlives the tests may hold open.
const lastWords = 5 * time.Second

// boundOutput starts a second process that filters the output of this one, and returns a function
// that stops it. The filter is a separate process because it must survive this one: the longest
// output is a panic with the stacks of all goroutines. This process remains the child of "go
// test", so signals and exit codes are its own.
//
// Without a filter the output is only longer, so no error here fails a test.
func boundOutput() func() {
	nothing := func() {}
	if !wantsBound() {
		return nothing
	}
	program, err := os.Executable()
	if err != nil {
		return nothing
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nothing
	}
	defer from.Close()                              //nolint:errcheck // the filter has its own copy
	defer to.Close()                                //nolint:errcheck // the standard streams are copies of it
	filter := exec.Command(program, filterArgument) //nolint:noctx // ends with this process
	filter.Stdin, filter.Stdout, filter.Stderr = from, os.Stdout, os.Stderr
	if filter.Start() != nil {
		return nothing
	}
	restore, err := redirect(to)
	if err != nil { // the filter ends without input
		return nothing
	}
	return func() {
		restore()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = filter.Wait() // the tests are over, whatever its status is
		}()
		select {
		case <-ended:
		case <-time.After(lastWords):
		}
	}
}

// wantsBound reports whether "go test" started this program and shows its output to a person. It
// returns false for test programs that tests start, for streams of events (-v, -json), for
// benchmarks and lists, and for fuzzing.
func wantsBound() bool {
	if os.Getenv(outputVariable) == "all" {
		return false
	}
	if !flag.Parsed() {
		flag.Parse()
	}
	given := func(name string) bool {
		f := flag.Lookup("test." + name)
		return f != nil && f.Value.String() != "" && f.Value.String() != "false"
	}
	return given("paniconexit0") && !given("v") && !given("bench") && !given("list") && !given("fuzz")
}
