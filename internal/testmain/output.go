package testmain

import (
	"flag"
	"os"
	"os/exec"
	"time"
)

// outputVariable is the variable of the environment that, set to "all", has tests
// print all they have to say.
const outputVariable = "MAINSTAY_TEST_OUTPUT"

// lastWords is how long a program waits for its filter. The filter ends when
// nobody has its pipe any more, and a program that outlives the tests has it too.
const lastWords = 5 * time.Second

// boundOutput has a second process filter what this one prints, and returns what
// ends that. The filter is a process of its own because it has to survive this
// one: a panic with the stacks of all goroutines is what is longest. This process
// stays the one that "go test" started, so signals and exit codes are its own.
//
// Without a filter the output is long, not wrong: so nothing here fails a test.
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
	defer from.Close()                              //nolint:errcheck // the filter has its own
	defer to.Close()                                //nolint:errcheck // the standard streams are copies of it
	filter := exec.Command(program, filterArgument) //nolint:noctx // it ends when this process does
	filter.Stdin, filter.Stdout, filter.Stderr = from, os.Stdout, os.Stderr
	if filter.Start() != nil {
		return nothing
	}
	restore, err := redirect(to)
	if err != nil { // the filter ends by itself: nothing is written to it
		return nothing
	}
	return func() {
		restore()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = filter.Wait() // whatever it says, the tests are over
		}()
		select {
		case <-ended:
		case <-time.After(lastWords):
		}
	}
}

// wantsBound reports whether "go test" started this program and shows its output
// to a person. It is not so for the programs that tests start of themselves, for
// streams of events (-v, -json), for measurements and lists, and for fuzzing.
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
