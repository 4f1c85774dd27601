package errormap

import (
	"fmt"
	"time"

	mcperrors "github.com/mainstay-mcp/mainstay/errors"
)

// Canceled returns the error of a call that its caller canceled. It has no code, and matches
// [context.Canceled] for any cause.
func Canceled(delivery mcperrors.Delivery, cause error) *mcperrors.Error {
	return mcperrors.New("", mcperrors.KindCanceled, delivery, "the call was cancelled", cause)
}

// Timeout returns the error of a call whose deadline passed, the caller's or the client's. It
// matches [context.DeadlineExceeded] for any cause. what is what did not happen in time, such as
// "no answer". after is how long the client waited, 0 for the caller's deadline.
func Timeout(delivery mcperrors.Delivery, what string, after time.Duration, cause error) *mcperrors.Error {
	if after > 0 {
		what += " within " + waited(after)
	}
	return mcperrors.New(mcperrors.CodeTimeout, mcperrors.KindTimeout, delivery, what, cause)
}

// Unasked returns the error of a call that was not sent because the application's HeaderFunc or
// Authorizer did not return in time. The error has the time if after is not 0.
func Unasked(after time.Duration, cause error) *mcperrors.Error {
	return Timeout(mcperrors.NotSent, "HeaderFunc or the Authorizer did not return", after, cause)
}

// waited formats d as options usually write it: 60s, not 1m0s. It rounds to milliseconds.
func waited(d time.Duration) string {
	d = max(d.Round(time.Millisecond), time.Millisecond)
	if d <= 2*time.Minute && d%time.Second == 0 {
		return fmt.Sprintf("%ds", d/time.Second)
	}
	return d.String()
}

// TooLarge returns the error of a call whose answer exceeds the limit of the client that message
// names. The same call would get the same answer, so it is not retryable.
func TooLarge(delivery mcperrors.Delivery, message string, cause error) *mcperrors.Error {
	e := mcperrors.New(mcperrors.CodeIncompatible, mcperrors.KindTooLarge, delivery, message, cause)
	e.UserMessage, e.SuggestedAction = "The answer is too large", "Ask for less at once"
	return e
}
