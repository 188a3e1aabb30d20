package channels

import (
	"context"
	"net/http"
)

// Post is what somebody has posted to /hooks/NAME.
type Post struct {
	Header http.Header
	Body   []byte // all of it, at most 1 MB
	// Unknown: which program posts could not be found out. Where the proof is one that
	// any program of this machine could have, the message decides nothing: see
	// Inbound.Unknown.
	Unknown bool
}

// Posted is the answer to a Post.
type Posted struct {
	Status int
	// Body becomes the JSON of the answer, when Status is below 400.
	Body any
	// Error is what is wrong with a Post whose proof is right. To anybody else it is "":
	// he learns that his proof is wrong (401), and no more.
	Error string
}

// Hooked is a channel whose platform, or the owner's own program, posts to it over
// HTTP. The web server takes what comes to /hooks/NAME without asking for a token or
// for the name by which it was reached, so that a tunnel can lead there: Hook proves
// each Post itself, before it believes a word of it, and answers 401 to what has no
// proof. It is called concurrently with everything, also before Run and after it,
// where it answers 503; it returns soon after ctx ends.
type Hooked interface {
	Hook(ctx context.Context, p Post) Posted
}
