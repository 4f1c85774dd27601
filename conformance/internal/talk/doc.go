// Package talk has the exchanges that scenarios share: short probes, HTTP requests,
// subscriptions, answers to what servers ask, and conversations that are data.
package talk
