package channels

import (
	"errors"

	"hob/platform/net/safehttp"
)

// Unanswered returns the error for a request without a response. what names the platform and the
// request. The platform may have processed a request that was sent. Of the URL in err, only the
// host is kept, because the rest may contain a token.
func Unanswered(what string, err error) *Error {
	out := Errorf(Temporary, "%s: %w", what, err)
	out.MaybeSent = true
	if e, ok := errors.AsType[*safehttp.Error](err); ok {
		out.MaybeSent = e.Sent
		if e.Refusal() {
			out.Class = Permanent
		}
	}
	return out
}
