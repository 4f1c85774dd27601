// Package completion completes command lines in a shell: servers from the files of hosts, and
// tools, arguments, resources and prompts from the lists that a server gave to an earlier run.
// It never starts a program. A server with a URL whose list is not kept is asked for it, within
// [limit].
package completion
