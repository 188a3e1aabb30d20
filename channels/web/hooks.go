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

	"hob/channels"
)

// Limits of posts to channels. Posts may come from anywhere through the owner's tunnel, all
// with its one address.
const (
	maxPost     = 1 << 20          // bytes of a body
	postTime    = 10 * time.Second // to send it
	hookTime    = 30 * time.Second // to respond
	maxPosts    = 64               // concurrent
	postsMinute = 120              // per channel, with
)

// hooks counts posts. Senders of invalid proofs are only slowed down; they never lock out
// senders of valid ones, nor the owner from the page.
type hooks struct {
	doors doors

	mu      sync.Mutex
	running int
	slow    []*arriving            // bodies being received, oldest first
	past    map[string][]time.Time // of proven ones, by channel
}

// arriving is a body being received; cut aborts it.
type arriving struct{ cut func() }

func (h *hooks) init() {
	h.doors.init()
	h.past = map[string][]time.Time{}
}

// begin returns how long a post has to wait; 0: it may start, and arrived and end must follow.
// Beyond the limit, the slowest sender's post is aborted, so that nobody can block others by
// sending slowly.
func (h *hooks) begin(name string, now time.Time, a *arriving) time.Duration {
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

// arrived records that a body is complete or aborted.
func (h *hooks) arrived(a *arriving) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.slow = slices.DeleteFunc(h.slow, func(o *arriving) bool { return o == a })
}

func (h *hooks) end(name string, proven bool, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running--
	if proven {
		h.past[name] = append(h.past[name], now)
	}
}

// isHook reports whether a request is a post to a channel. It may have any Host header: a page
// that uses DNS rebinding has no valid proof and learns nothing from the response.
func (s *Server) isHook(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, "/hooks/") && r.Method == http.MethodPost
}

func unsigned() *failure {
	return fail(http.StatusUnauthorized, "bad_signature", "", "the signature of the post is missing or not valid")
}

// hook forwards a post to its channel, which authenticates it.
func (s *Server) hook(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("channel")
	ch := s.opt.Hooks[name]
	if ch == nil { // the response does not reveal which channels exist
		return s.hooks.doors.failed(r, unsigned())
	}
	who := s.peer(r, true, true)
	if who == PeerHob { // it runs as the owner and could read the secret
		s.log.Warn("rejected a post from a program started by Hob", "path", r.URL.Path)
		return fail(http.StatusForbidden, "not_the_owner", "", "programs started by Hob cannot post here")
	}
	rc := http.NewResponseController(w)
	_ = rc.SetReadDeadline(time.Now().Add(postTime)) // in-process requests have none
	in := &arriving{func() { _ = rc.SetReadDeadline(time.Now()) }}
	if wait := s.hooks.begin(name, time.Now(), in); wait > 0 {
		f := fail(http.StatusTooManyRequests, "too_many", "", "too many posts")
		f.After = wait
		return f
	}
	proven := false
	defer func() { s.hooks.end(name, proven, time.Now()) }()
	body, err := readPost(w, r)
	s.hooks.arrived(in)
	if err != nil {
		return err
	}
	_ = rc.SetReadDeadline(time.Time{})
	ctx, stop := until(r.Context())
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, hookTime)
	defer cancel()
	// Programs of other users may run the owner's tunnel; that does not authenticate the post.
	a := ch.Hook(ctx, channels.Post{Header: r.Header, Body: body, Unknown: who != PeerOwner})
	if a.Status == http.StatusUnauthorized {
		return s.hooks.doors.failed(r, unsigned())
	}
	proven = true
	if at, ok := r.Context().Value(connKey{}).(*connection); ok {
		prove(at.conn)
	}
	if a.Status >= http.StatusBadRequest {
		return refusedPost(a)
	}
	s.reply(w, a.Status, a.Body)
	return nil
}

// refusedPost returns the error of an authenticated post that is not accepted.
func refusedPost(a channels.Posted) error {
	code, said := "invalid", a.Error
	switch {
	case a.Status == http.StatusServiceUnavailable:
		code = "not_ready"
	case a.Status == http.StatusForbidden:
		code = "denied"
	case a.Status >= http.StatusInternalServerError:
		code = "failed"
	}
	if said == "" {
		said = strings.ToLower(http.StatusText(a.Status))
	}
	f := fail(a.Status, code, "", "%s", said)
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
		return nil, fail(http.StatusBadRequest, "invalid", "", "the post ended early")
	case n > maxPost:
		w.Header().Set("Connection", "close")
		return nil, fail(http.StatusRequestEntityTooLarge, "too_large", "", "the post is larger than 1 MB")
	}
	return b.Bytes(), nil
}
