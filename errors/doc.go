// Package mcperrors has the one error type of all calls on a client, [*Error].
// An error reports what happened (Kind), the application code (Code), whether
// the server may have run the request (Delivery), and whether a later attempt
// may succeed (Retryable). It also holds the evidence: the JSON-RPC error, the
// HTTP response, or how the server's process ended.
//
// Two questions have separate answers. [Retryable] reports whether another
// attempt may succeed. [SafeToRetry] reports whether another attempt is
// harmless. Ask both before you repeat a call.
//
// The text of an error is for people and may change. Programs use [KindOf],
// [CodeOf], [DeliveryOf], [RetryAfter], [IsNotFound] and [FromPeer], or
// errors.Is with [context.Canceled], [context.DeadlineExceeded],
// [ErrCircuitOpen] and [ErrClosed].
//
// [Catalogue] lists the codes with their texts. The client maps a server's
// JSON-RPC error to a code. If the servers of an application have error codes of
// their own, a [Profile] of the application gives them a meaning.
package mcperrors
