// Package resilience decides what follows from an attempt: the verdicts for the server and the
// tool, whether the call is retried, when, and what that costs.
//
// Nothing here reads a clock, sleeps, starts a goroutine or generates random numbers. Times and
// random numbers are parameters, so that every decision can be shown in a table and every
// schedule can run a million times in a test. The exception is [Place.Wait], which waits within a
// context and a time limit.
//
// An [Attempt] is the record of one request. [Attempt.Judge] returns the verdicts for circuits,
// [Decide] the next attempt, and [Budget] pays for it. [Bulkhead], [Rate], [Silence], [Restart]
// and [Latency] are the state machines of the features with these names.
package resilience
