// Package api is what the two REST services of S0 have in common: how a
// request is admitted, logged and answered (tools.md §2.9, §2.10).
//
// Every answer is JSON with Cache-Control: no-store. An error carries both key
// sets the sources show, {success:false, error, detail, status_code} (C-18);
// error and detail are the same text, and never that of an internal failure.
// Members of a request that a service does not know are ignored.
package api
