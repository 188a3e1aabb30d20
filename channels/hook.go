package channels

import (
	"context"
	"net/http"
)

// WebhookRequest is an HTTP request to /hooks/NAME.
type WebhookRequest struct {
	Header http.Header
	Body   []byte // complete, at most 1 MB
	// Unknown: the sending program could not be identified. If any program of this machine
	// could produce the proof, the message answers no approval request: see Inbound.Unknown.
	Unknown bool
}

// WebhookResponse is the response to a Post.
type WebhookResponse struct {
	Status int
	// Body is encoded as the JSON response if Status is below 400.
	Body any
	// Error describes an error to a sender with a valid proof. For others it is "": they only
	// learn that the proof is invalid (401).
	Error string
}

// WebhookReceiver is a channel that receives HTTP posts from its platform or from the owner's programs.
// The web server forwards requests to /hooks/NAME without checking a token or the Host header,
// so that a tunnel can lead there: Hook must authenticate each Post before using it and
// answers 401 otherwise. It is called concurrently with all methods, also before and after
// Run, when it answers 503; it returns soon after ctx ends.
type WebhookReceiver interface {
	Hook(ctx context.Context, p WebhookRequest) WebhookResponse
}
