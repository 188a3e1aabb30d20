package web

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"hob/autonomy/api"
	"hob/channels"
	"hob/platform/net/hooksig"
)

// Limits for posts to channels. Posts from anywhere may arrive through the owner's tunnel, so all
// of them have the tunnel's address.
const (
	maxPost     = 1 << 20          // maximum bytes of a body
	postTime    = 10 * time.Second // time limit for sending the request
	hookTime    = 30 * time.Second // time limit for the channel's response
	maxPosts    = 64               // maximum concurrent requests
	postsMinute = 120              // maximum posts with a valid proof, per channel and minute
)

// hooks limits posts. Senders with invalid proofs are only slowed down: they can lock out neither
// senders with valid proofs nor the owner, who uses the page.
type hooks struct {
	doors loginGuard

	mu      sync.Mutex
	running int
	slow    []*incomingBody        // bodies being received, oldest first
	past    map[string][]time.Time // times of the posts with a valid proof, by channel
}

// incomingBody is a body being received; cut aborts it.
type incomingBody struct{ cut func() }

func (h *hooks) init() {
	h.doors.init()
	h.past = map[string][]time.Time{}
}

// beginPost returns how long a post must wait. 0 means that it may start; calls of bodyArrived and
// endPost must follow. Above the limit, it aborts the post whose body has been arriving for the
// longest time, so that no one can block others by sending slowly.
func (h *hooks) beginPost(name string, now time.Time, a *incomingBody) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	past := h.past[name]
	for len(past) > 0 && now.Sub(past[0]) >= time.Minute {
		past = past[1:]
	}
	h.past[name] = past
	switch {
	case len(past) >= postsMinute:
		return max(past[0].Add(time.Minute).Sub(now), time.Second)
	case h.running >= maxPosts && len(h.slow) == 0:
		return time.Second
	case h.running >= maxPosts:
		h.slow[0].cut()
		h.slow = h.slow[1:]
	}
	h.running++
	h.slow = append(h.slow, a)
	return 0
}

// bodyArrived records that a body is complete or aborted.
func (h *hooks) bodyArrived(a *incomingBody) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slow = slices.DeleteFunc(h.slow, func(o *incomingBody) bool { return o == a })
}

func (h *hooks) endPost(name string, proven bool, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	if proven {
		h.past[name] = append(h.past[name], now)
	}
}

// isHook reports whether a request is a post to a channel. Such a request may have any Host header:
// a page that uses DNS rebinding has no valid proof and learns nothing from the response.
func (s *Server) isHook(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/hooks/") && r.Method == http.MethodPost
}

// unsignedFailure returns the failure of a post without a valid proof. It says how to sign a post in
// Hob's format, also for a channel that does not exist.
func unsignedFailure(r *http.Request) *failure {
	remedy := ""
	if r.Header.Get(hooksig.Header) != "" {
		remedy = hooksig.Remedy
	}
	return newFailure(http.StatusUnauthorized, "bad_signature", remedy, "the signature of the post is missing or not valid")
}

// serveHook forwards a post to its channel, which authenticates the post.
func (s *Server) serveHook(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("channel")
	ch := s.opt.Hooks[name]
	if ch == nil { // the response does not reveal which channels exist
		return s.hooks.doors.countFailure(r, unsignedFailure(r))
	}
	who := s.requestPeer(r, true, true)
	if who == PeerHob { // such a program runs under the owner's account and could read the secret
		s.log.Warn("rejected a post from a program started by Hob", "path", r.URL.Path)
		return newFailure(http.StatusForbidden, "not_the_owner", "", "programs started by Hob cannot post here")
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(postTime)) // in-process requests have no deadline
	in := &incomingBody{func() { _ = rc.SetReadDeadline(time.Now()) }}
	if wait := s.hooks.beginPost(name, time.Now(), in); wait > 0 {
		f := newFailure(http.StatusTooManyRequests, "too_many", "", "too many posts")
		f.After = wait
		return f
	}
	proven := false
	defer func() { s.hooks.endPost(name, proven, time.Now()) }()
	body, err := readPost(w, r)
	s.hooks.bodyArrived(in)
	if err != nil {
		return err
	}
	_ = rc.SetReadDeadline(time.Time{})
	ctx, stop := withServerLifetime(r.Context())
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	// The owner's tunnel may run under another user's account, so such a post is not rejected. The
	// request says that the sender is unknown.
	a := ch.Hook(ctx, channels.WebhookRequest{Header: r.Header, Body: body, Unknown: who != PeerOwner})
	if a.Status == http.StatusUnauthorized {
		return s.hooks.doors.countFailure(r, unsignedFailure(r))
	}
	proven = true
	if at, ok := r.Context().Value(connKey{}).(*connection); ok {
		markProven(at.conn)
	}
	if a.Status >= http.StatusBadRequest {
		return refusedPost(a)
	}
	s.writeJSON(w, a.Status, a.Body)
	return nil
}

// refusedPost returns the error for an authenticated post that is not accepted.
func refusedPost(a channels.WebhookResponse) error {
	code, said := "invalid", a.Error
	switch {
	case a.Status == http.StatusServiceUnavailable:
		code = "not_ready"
	case a.Status == http.StatusConflict:
		code = api.CodeConflict
	case a.Status == http.StatusForbidden:
		code = "denied"
	case a.Status >= http.StatusInternalServerError:
		code = "failed"
	}
	if said == "" {
		said = strings.ToLower(http.StatusText(a.Status))
	}
	f := newFailure(a.Status, code, "", "%s", said)
	if a.Status == http.StatusServiceUnavailable {
		f.After = time.Second
	}
	return f
}

func readPost(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	var b bytes.Buffer
	n, err := b.ReadFrom(io.LimitReader(r.Body, maxPost+1))
	switch {
	case err != nil:
		return nil, newFailure(http.StatusBadRequest, "invalid", "", "the post ended early")
	case n > maxPost:
		w.Header().Set("Connection", "close")
		return nil, newFailure(http.StatusRequestEntityTooLarge, "too_large", "", "the post is larger than 1 MB")
	}
	return b.Bytes(), nil
}
