package web

import (
	"context"
	"net/http"

	"hob/autonomy/api"
)

// answeringSurface returns the auth method that answers, for the audit log.
func (s *Server) answeringSurface(r *http.Request, proof authMethod) (string, error) {
	switch channel, err := s.channelOf(r); {
	case err != nil:
		return "", err
	case channel == "terminal":
		return "cli", nil
	case proof == byCookie:
		return "chat", nil
	}
	return "api", nil
}

// serveApproval handles the owner's decision on a question or a batch of questions.
func (s *Server) serveApproval(w http.ResponseWriter, r *http.Request, proof authMethod) error {
	_, err := sessionID(r.PathValue("session"))
	if err != nil {
		return err
	}
	var in struct {
		Approved   *bool  `json:"approved"`
		Scope      string `json:"scope"`
		Expires    string `json:"expires"`
		Uses       int    `json:"uses"`
		Note       string `json:"note"`
		Beforehand string `json:"beforehand"`
	}
	if err := s.readJSONBody(w, r, &in); err != nil {
		return err
	}
	if in.Approved == nil {
		return newFailure(http.StatusBadRequest, "invalid", `send {"approved": true} or {"approved": false}`, "the decision is missing")
	}
	if in.Uses < 0 {
		return invalidFailure("uses must not be negative")
	}
	a := api.Answer{Approved: *in.Approved, Scope: in.Scope, Expires: in.Expires, Uses: in.Uses, Note: in.Note, Beforehand: in.Beforehand}
	if a.By, err = s.answeringSurface(r, proof); err != nil {
		return err
	}
	out, err := s.backend.Answer(r.Context(), r.PathValue("approval"), a)
	if err != nil {
		return err
	}
	if out.Batch {
		s.writeJSON(w, http.StatusOK, out.Approvals)
		return nil
	}
	s.writeJSON(w, http.StatusOK, out.Approvals[0])
	return nil
}

// serveGrant creates a grant without a pending question.
func (s *Server) serveGrant(w http.ResponseWriter, r *http.Request, proof authMethod) error {
	var in api.NewGrant
	err := s.readJSONBody(w, r, &in)
	if err != nil {
		return err
	}
	if in.By, err = s.answeringSurface(r, proof); err != nil {
		return err
	}
	out, err := s.backend.Grant(r.Context(), in)
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, out)
	return nil
}

// ownerActHandler returns a handler that runs an owner action on the item named by a part of the path.
func ownerActHandler[T any](s *Server, part string, do func(ctx context.Context, id, by string) (T, error)) func(http.ResponseWriter, *http.Request, authMethod) error {
	return func(w http.ResponseWriter, r *http.Request, proof authMethod) error {
		var in struct{}
		if err := s.readJSONBody(w, r, &in); err != nil {
			return err
		}
		by, err := s.answeringSurface(r, proof)
		if err != nil {
			return err
		}
		out, err := do(r.Context(), r.PathValue(part), by)
		if err != nil {
			return err
		}
		s.writeJSON(w, http.StatusOK, out)
		return nil
	}
}

// testChannel runs the self-test of a channel.
func (s *Server) testChannel(w http.ResponseWriter, r *http.Request, proof authMethod) error {
	var in struct {
		Send bool `json:"send"`
	}
	if err := s.readJSONBody(w, r, &in); err != nil {
		return err
	}
	if _, err := s.answeringSurface(r, proof); err != nil {
		return err
	}
	out, err := s.backend.TestChannel(r.Context(), r.PathValue("channel"), in.Send)
	if err != nil {
		return err
	}
	s.writeJSON(w, http.StatusOK, out)
	return nil
}
