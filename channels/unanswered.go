package channels

import (
	"errors"

	"hob/platform/safehttp"
)

// Unanswered is the error of a request that got no answer; what names the platform and
// the request. Once it was on its way, the platform may have done what it asks for. Of the
// address err names the host at most: the rest may be a token.
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
