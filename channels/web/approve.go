package web

import (
	"context"
	"net/http"

	"hob/autonomy/api"
)

// answeringSurface returns the place where a decision was made, for the audit log: "cli", "chat" or
// "api".
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

// serveApproval handles the owner's decision on an approval request or a batch of them.
func (s *Server) serveApproval(w http.ResponseWriter, r *http.Request, c call) error {
	_, err := sessionID(r.PathValue("session"))
	if err != nil {
		return err
	}
	var in DecisionRequest
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
	if a.By, err = s.answeringSurface(r, c.by); err != nil {
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

// createGrant creates a grant without a pending approval request.
func (s *Server) createGrant(r *http.Request, c call, in api.NewGrant) (out api.Grant, err error) {
	if in.By, err = s.answeringSurface(r, c.by); err != nil {
		return out, err
	}
	return s.backend.Grant(r.Context(), in)
}

// ownerActEndpoint returns an endpoint that runs an owner action on the item named in the path
// parameter part.
func ownerActEndpoint[T any](s *Server, part string, do func(ctx context.Context, id, by string) (T, error)) endpoint {
	return actionEndpoint(s, func(r *http.Request, c call, _ struct{}) (out T, err error) {
		by, err := s.answeringSurface(r, c.by)
		if err != nil {
			return out, err
		}
		return do(r.Context(), r.PathValue(part), by)
	})
}

// testChannel runs the self-test of a channel.
func (s *Server) testChannel(r *http.Request, c call, in ChannelTestRequest) (out api.ChannelTest, err error) {
	if _, err := s.answeringSurface(r, c.by); err != nil {
		return out, err
	}
	return s.backend.TestChannel(r.Context(), r.PathValue("channel"), in.Send)
}
