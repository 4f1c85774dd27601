// Package rest is the HTTP client of the two services behind the artifact
// workflow: Task Tracking and ID Management (tools.md §2.9 and §2.10). It knows
// their REST API alone, so the services may be the ones of this module, or
// others at other URLs.
package rest
