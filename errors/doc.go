// Package mcperrors is the front door of errors: every error of a call on a
// client is an [*Error], which says what happened (Kind), what the application
// calls it (Code), what became of the request (Delivery) and whether a later
// attempt may help (Retryable), with the evidence.
//
// Two questions are kept apart: [Retryable] asks whether repeating may help,
// [SafeToRetry] whether it can do harm. Text is for people and may change; ask
// [KindOf], [CodeOf], [DeliveryOf], [RetryAfter], [IsNotFound] and [FromPeer], or
// errors.Is with [context.Canceled], [context.DeadlineExceeded],
// [ErrCircuitOpen] and [ErrClosed].
//
// The codes are the ones of the application around the client and stand in
// [Catalogue]. [Map] makes one of a server's JSON-RPC error; what a number means
// depends on the server's family, its [Profile].
package mcperrors
