// Package faults is a proxy in front of an MCP server. It injects the failures of
// networks, processes and servers: broken connections, error statuses, streams that stop,
// malformed answers. It is for tests of clients.
//
// A [Plan] is a list of rules: a fault, its parameters, and a [Selector] of the messages
// that it affects. Each fault has the id of a row in a fixed matrix; [Catalogue] returns
// the matrix, with the [Carrier] of each fault. A [Proxy] follows one plan at a time. Its
// carriers are methods:
//
//   - [Proxy.Handler] is an http.Handler in front of another;
//   - [Proxy.Stream] is between the lines of a stdio client and its server;
//   - [Proxy.Dial] wraps a dialer and [Proxy.Listen] a listener, for faults below HTTP;
//   - [Main] is a program around the command of a stdio server, for faults of processes.
//
// The faults of the client's own host (part G of the matrix) and of a fleet's Redis (part
// H) are not made here; the catalogue says why.
//
// A plan can be written as JSON ([ParsePlan]). This one drops the answer of every third
// call of one tool, after the server has executed it, and answers tools/list with a web
// page for the first minute:
//
//	{"seed": 7, "rules": [
//	  {"fault": "B4", "when": {"tools": ["pay"], "nth": 3}},
//	  {"fault": "B9", "when": {"methods": ["tools/list"], "until": "1m"}}
//	]}
//
// The plan can change while traffic runs ([Proxy.Set], [Proxy.Heal]). [Proxy.Stats] counts
// the faults. [Proxy.History] reports for every message whether the server received it, so
// that a test knows what may have been executed. All randomness comes from the seed.
//
// The package opens no file and no socket unless asked, and it waits only on timers and
// channels: in memory everything runs in a testing/synctest bubble.
//
// # Experimental
//
// The Go API may still change. The ids of the faults and the JSON form of plans do not.
package faults
