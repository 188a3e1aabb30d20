package channels

import (
	"context"
	"net/http"
)

// WebhookRequest is an HTTP request to /hooks/NAME.
type WebhookRequest struct {
	Header http.Header
	Body   []byte // complete, at most 1 MB
	// Unknown reports whether the sending program could not be identified. If any program on this
	// machine could produce the proof, the message cannot answer an approval request; see
	// Inbound.Unknown.
	Unknown bool
}

// WebhookResponse is the response to a webhook request.
type WebhookResponse struct {
	Status int
	// Body is encoded as the JSON response if Status is below 400.
	Body any
	// Error describes an error to a sender with a valid proof. For other senders it is "": they
	// only learn that the proof is invalid (401).
	Error string
}

// WebhookReceiver is a channel that receives HTTP posts from its platform or from the owner's
// programs. The web server forwards requests to /hooks/NAME without checking a token or the Host
// header, so that a tunnel can forward requests there. Hook must therefore authenticate each post
// before it uses the content, and return 401 if that fails. Hook may be called concurrently with
// all other methods. Before and after Run it returns 503. It returns soon after ctx ends.
type WebhookReceiver interface {
	Hook(ctx context.Context, p WebhookRequest) WebhookResponse
}
