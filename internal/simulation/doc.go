// Package simulation runs real clients against servers that exist in memory and
// virtual time only, hurts them by a schedule that a seed decides, and holds
// what happened against what a client promises: each call ends exactly once,
// what must not run twice does not, what is said not to have run has not, and
// nothing is sent while a circuit is open.
//
// A world has three kinds of servers: one over HTTP whose client has the defaults,
// one over HTTP whose client has a rate, a bulkhead and hedges, and a program that
// ends and is started again. Over HTTP those of the session era lose their
// sessions; those of the stateless era ask before they run a call.
//
// [Run] belongs into a bubble of testing/synctest. The choice of faults depends
// on the seed, the call and the number of its attempt only, so that the order in
// which goroutines run changes little; Go promises no order, so a seed repeats
// the faults and not every interleaving.
package simulation
