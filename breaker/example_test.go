package breaker_test

import (
	"errors"
	"fmt"
	"time"

	"github.com/mainstay-mcp/mainstay/breaker"
)

func Example() {
	b := breaker.New(breaker.Settings{Name: "db", FailureThreshold: 2})
	for range 3 {
		permit, err := b.Acquire()
		if errors.Is(err, breaker.ErrOpen) {
			fmt.Println(err)
			continue
		}
		fmt.Println("calling, and failing")
		permit.Settle(breaker.Failure)
	}
	fmt.Println(b.State(), b.Snapshot().ConsecutiveFailures)
	// Output:
	// calling, and failing
	// calling, and failing
	// Service temporarily unavailable (circuit open)
	// OPEN 2
}

// Two clients of one server share its breaker, so that one learns from the failures of the
// other.
func Example_sharing() {
	server := breaker.New(breaker.Settings{Name: "db", FailureThreshold: 2})
	call := func(client string) {
		permit, err := server.Acquire()
		if err != nil {
			fmt.Println(client, "is refused:", errors.Is(err, breaker.ErrOpen))
			return
		}
		fmt.Println(client, "calls, in vain")
		permit.SettleFor(breaker.Failure, "connection refused")
	}
	call("first")
	call("second")
	call("first")
	fmt.Println(server.Snapshot().Reason)
	// Output:
	// first calls, in vain
	// second calls, in vain
	// first is refused: true
	// failures in a row: connection refused
}

// A breaker for each tool of a server. It is made at the first failure of a tool, so that
// tools that never fail cost nothing.
func ExampleGroup() {
	tools := breaker.NewGroup(breaker.GroupSettings{Settings: breaker.Settings{Name: "db", FailureThreshold: 2}})
	call := func(tool string, works bool) {
		guard := tools.Find(tool)
		if guard == nil && works {
			fmt.Println(tool, "works")
			return
		}
		if guard == nil {
			guard = tools.Get(tool)
		}
		permit, err := guard.Acquire()
		switch {
		case err != nil:
			fmt.Println(tool, "is refused")
		case works:
			fmt.Println(tool, "works")
			permit.Settle(breaker.Success)
		default:
			fmt.Println(tool, "fails")
			permit.Settle(breaker.Failure)
		}
	}
	for range 3 {
		call("search", true)
		call("export", false)
	}
	for _, s := range tools.Snapshots() {
		fmt.Println(s.Name, s.State)
	}
	// Output:
	// search works
	// export fails
	// search works
	// export fails
	// search works
	// export is refused
	// db/export OPEN
}

// A server that sets a Retry-After is not called before its end.
func ExampleBreaker_Throttle() {
	b := breaker.New(breaker.Settings{Name: "db"})
	b.Throttle(time.Minute, "429")
	_, err := b.Acquire()
	var open *breaker.OpenError
	if errors.As(err, &open) {
		fmt.Println(open.Throttled, open.Reason, open.RetryAfter().Round(time.Second))
	}
	fmt.Println(b.State())
	// Output:
	// true 429 1m0s
	// CLOSED
}
