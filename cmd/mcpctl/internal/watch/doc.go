// Package watch shows what a running proxy does: a log of the requests of its hosts, and its
// health and figures over HTTP.
package watch
