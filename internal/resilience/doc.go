// Package resilience decides what the client does about an attempt: what it
// tells of the server and of the tool, whether the call is made again, when,
// and who pays for it.
//
// Nothing here reads a clock, sleeps, starts a goroutine or rolls dice: times
// and random numbers are given, so that every decision can be shown in a table
// and every schedule run a million times in a test. The one thing that waits is
// [Place.Wait], within a context and a time limit.
//
// An [Attempt] is the record of one request. [Attempt.Judge] gives the verdicts
// of the breakers, [Decide] the next attempt, and [Budget] pays for it.
// [Bulkhead], [Rate], [Silence], [Restart] and [Latency] are the state machines
// of the parts with these names.
package resilience
