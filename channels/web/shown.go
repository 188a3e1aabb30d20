package web

import (
	"context"
	"net/http"
	"time"

	"hob/autonomy/api"
	"hob/platform/text/lazyregexp"
)

// ClientHeader contains a random id for the client: one for each open page and each running
// command. A bare yes answers only questions that the same client has displayed.
const ClientHeader = "X-Hob-Client"

var clientID = lazyregexp.New(`^[0-9A-Za-z_-]{1,64}$`)

// clientOf returns the client id in a request, or "" if it is not set.
func clientOf(r *http.Request) (string, error) {
	id := r.Header.Get(ClientHeader)
	if id != "" && !clientID.MatchString(id) {
		return "", invalidFailure("%s must have 1 to 64 characters of A-Z, a-z, 0-9, - and _", ClientHeader)
	}
	return id, nil
}

// recordShown records a client's report that it has displayed a delivery.
func (s *Server) recordShown(r *http.Request, _ call, _ struct{}) (Shown, error) {
	client, err := clientOf(r)
	if err != nil {
		return Shown{}, err
	}
	if client == "" {
		return Shown{}, newFailure(http.StatusBadRequest, "invalid", "send the header "+ClientHeader+" with a random client id", "the client id is missing")
	}
	err = s.backend.Shown(r.Context(), client, api.Display{Delivery: r.PathValue("delivery")})
	return Shown{Shown: err == nil}, err
}

// markTime is the timeout for recording a display.
const markTime = 5 * time.Second

// recordDisplay records the approval requests that the response shows to its client, before the
// client can answer them. The returned function withdraws the record if the response could not be
// written.
func (s *Server) recordDisplay(r *http.Request, st api.EventStatus) (func(*watchedWriter), error) {
	client, err := clientOf(r)
	if err != nil || client == "" {
		return func(*watchedWriter) {}, err
	}
	d := api.Display{Event: st.ID, Approvals: idsOf(st.Approvals)}
	if err := s.backend.Shown(r.Context(), client, d); err != nil {
		return nil, err
	}
	mark := s.displayMarker(r, client)
	return func(w *watchedWriter) {
		if !w.failed {
			return
		}
		d.Withdrawn = true
		if err := mark(d); err != nil {
			s.log.Warn("withdrawing the display of a question failed", "error", err)
		}
	}, nil
}

// displayMarker returns a function that records what the client of a request displays, even after
// the client disconnects. It returns nil if the client has no id.
func (s *Server) displayMarker(r *http.Request, client string) func(api.Display) error {
	if client == "" {
		return nil
	}
	base := context.WithoutCancel(r.Context())
	return func(d api.Display) error {
		ctx, cancel := context.WithTimeout(base, markTime)
		defer cancel()
		return s.backend.Shown(ctx, client, d)
	}
}

// idsOf returns the ids of the approval requests.
func idsOf(approvals []api.Approval) (ids []string) {
	for _, a := range approvals {
		ids = append(ids, a.ID)
	}
	return ids
}

// watchedWriter detects whether a response could not be written.
type watchedWriter struct {
	http.ResponseWriter

	failed bool
}

// Write implements http.ResponseWriter.
func (w *watchedWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	w.failed = w.failed || err != nil
	return n, err
}

// Unwrap supports http.ResponseController.
func (w *watchedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
