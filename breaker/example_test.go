package breaker_test

import (
	"errors"
	"fmt"

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
