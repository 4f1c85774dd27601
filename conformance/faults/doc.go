// Package faults is a proxy that stands before any MCP server and makes what
// goes wrong in networks, processes and servers: broken connections, refusals,
// streams that stop, answers that are none. Tests of clients use it, ours and
// others'.
//
// A [Plan] says what goes wrong: rules of a fault, its parameters, and a
// [Selector] of the messages it hits. The faults have the ids of a fixed
// matrix; [Catalogue] is that matrix as data and says of each by which
// [Carrier] it is made. A [Proxy] follows one plan at a time, and its carriers
// are methods:
//
//   - [Proxy.Handler] and [Proxy.Forward] are an http.Handler before another, or
//     before a URL;
//   - [Proxy.Stream] stands between the lines of a stdio client and server;
//   - [Proxy.Dial] wraps a dialer and [Proxy.Listen] a listener, for what
//     happens below HTTP;
//   - [Main] is a program around the command of a stdio server, for what only a
//     process can do.
//
// The faults of the client's own host (part G of the matrix) and of a fleet's
// Redis (part H) are made where those are; the catalogue has them with that
// reason.
//
// A plan has a text form, so that a command can take it ([ParsePlan]). This one
// loses the answer of every third call of one tool, after the server has
// executed it, and is a web page for the first minute to who asks for tools:
//
//	{"seed": 7, "rules": [
//	  {"fault": "B4", "when": {"tools": ["pay"], "nth": 3}},
//	  {"fault": "B9", "when": {"methods": ["tools/list"], "until": "1m"}}
//	]}
//
// The plan can change while traffic runs ([Proxy.Set], [Proxy.Heal]).
// [Proxy.Stats] counts the faults and [Proxy.History] tells of every message
// whether the server was given it, so that a test knows what may have been
// executed. All chance comes from the plan's seed.
//
// Nothing here opens a file or a socket unless asked, and waiting is by timers
// and channels: in memory all of it runs in a testing/synctest bubble.
package faults
