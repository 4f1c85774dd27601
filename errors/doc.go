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
// [Catalogue] lists the codes with their texts. The client maps a server's JSON-RPC
// error to a code. What the number of such an error means depends on the family of
// servers, which the application names by a [Profile].
package mcperrors
