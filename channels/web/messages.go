package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"hob/autonomy/api"
	"hob/channels"
)

const maxImages = 20

// decodeMessage decodes and checks a message.
func decodeMessage(b []byte) (Message, error) {
	var in Message
	if err := unmarshalOne(b, &in, true); err != nil {
		return in, err
	}
	if err := checkParts(in.Text, in.Parts); err != nil {
		return in, err
	}
	if in.Text == "" && len(in.Parts) == 0 && len(in.Attachments) == 0 {
		return in, newFailure(http.StatusBadRequest, "empty", `send {"text": "..."}`, "the message is empty")
	}
	if len(in.DedupeKey) > 500 {
		return in, invalidFailure("dedupe_key is longer than 500 bytes")
	}
	if err := checkText(in.Text); err != nil {
		return in, err
	}
	if len(in.Attachments) > maxImages {
		return in, invalidFailure("a message may contain at most %d attachments, this one contains %d", maxImages, len(in.Attachments))
	}
	for i, a := range in.Attachments {
		if err := checkImage(a.MIME, a.Data); err != nil {
			return in, invalidFailure("attachment %d: %v", i+1, err)
		}
	}
	return in, nil
}

// Limits for the parts of one message.
const (
	maxParts    = 20
	maxPartName = 200 // maximum bytes
)

// checkParts checks the parts of a message. It rejects a part whose origin is missing or unknown,
// because such a part must not count as typed.
func checkParts(text string, parts []channels.TextPart) error {
	switch {
	case text != "" && len(parts) > 0:
		return newFailure(http.StatusBadRequest, "invalid", `send {"text": "..."} or {"parts": [...]}`, "a message has text or parts, not both")
	case len(parts) > maxParts:
		return invalidFailure("a message may contain at most %d parts, this one contains %d", maxParts, len(parts))
	}
	origins := []channels.TextOrigin{channels.Typed, channels.Pasted, channels.Piped, channels.FromFile}
	total := 0
	for i, p := range parts {
		total += len(p.Text)
		switch {
		case !slices.Contains(origins, p.Origin):
			return newFailure(http.StatusBadRequest, "invalid", "use typed, pasted, piped or file", "parts[%d].origin is %q", i, p.Origin)
		case strings.TrimSpace(p.Text) == "":
			return newFailure(http.StatusBadRequest, "empty", "leave out empty parts", "parts[%d].text is empty", i)
		case len(p.Name) > maxPartName:
			return invalidFailure("parts[%d].name is longer than %d bytes", i, maxPartName)
		}
	}
	return checkLength(total)
}

func checkText(text string) error { return checkLength(len(text)) }

// checkLength rejects text of more than MaxText bytes.
func checkLength(size int) error {
	if size > MaxText {
		return newFailure(http.StatusRequestEntityTooLarge, "too_large", "save the text in a file and send the file name",
			"the text is larger than %d MB", MaxText>>20)
	}
	return nil
}

// checkImage rejects data that is not an image of the declared type.
func checkImage(mime string, data []byte) error {
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mime) {
		return fmt.Errorf("%q is not an image type that can be read (png, jpeg, gif, webp)", mime)
	}
	if got := http.DetectContentType(data); got != mime {
		return fmt.Errorf("it is declared as %s but contains %s", mime, got)
	}
	return nil
}

// sessionID checks a session name from a path or header.
func sessionID(id string) (string, error) {
	bad := func(r rune) bool { return r < ' ' || r == 0x7f }
	if id == "" || len(id) > 200 || !utf8.ValidString(id) || strings.ContainsFunc(id, bad) {
		return "", newFailure(http.StatusBadRequest, "invalid", "a session name consists of 1 to 200 bytes without control characters", "the session name is not valid")
	}
	return id, nil
}

// channelOf returns the channel of a client.
func (s *Server) channelOf(r *http.Request) (string, error) {
	name := r.Header.Get("X-Hob-Channel")
	if name == "" || name == "web" {
		return "web", nil
	}
	if !slices.Contains(s.opt.Channels, name) {
		return "", invalidFailure("X-Hob-Channel must be one of web, %s, but is %q", strings.Join(s.opt.Channels, ", "), name)
	}
	return name, nil
}

// ownerInbound returns a message from the authenticated owner.
func (s *Server) ownerInbound(r *http.Request, session, text, key string) (channels.Inbound, error) {
	channel, err := s.channelOf(r)
	if err != nil {
		return channels.Inbound{}, err
	}
	if key == "" {
		key = r.Header.Get("Idempotency-Key")
	}
	if key != "" {
		key = session + "/" + key // keys are unique only per session: two clients may both count from 1
	}
	via := ""
	if channel == "web" && r.Header.Get("Authorization") != "" {
		via = "api" // a program with the token, not the page
	}
	client, err := clientOf(r)
	if err != nil {
		return channels.Inbound{}, err
	}
	return channels.Inbound{
		Via: via, Client: client, Channel: channel, Chat: session, Session: session, Sender: "owner", FromOwner: true, Text: text, Key: key, At: time.Now(),
		Unknown: (s.opt.Decides == nil || s.opt.Decides(text)) && s.requestPeer(r, true, false) != PeerOwner,
	}, nil
}

// serveMessage accepts a message from the owner and responds in the requested format.
func (s *Server) serveMessage(w http.ResponseWriter, r *http.Request, _ call) error {
	session, err := sessionID(r.PathValue("session"))
	if err != nil {
		return err
	}
	b, err := s.rawJSON(w, r)
	if err != nil {
		return err
	}
	body, err := decodeMessage(b)
	if err != nil {
		return err
	}
	said := channels.Inbound{Text: body.Text}
	if len(body.Parts) > 0 {
		said.SetParts(body.Parts)
	}
	in, err := s.ownerInbound(r, session, said.Text, body.DedupeKey)
	if err != nil {
		return err
	}
	in.Outside, in.OutsideFrom = said.Outside, said.OutsideFrom
	for _, a := range body.Attachments {
		in.Images = append(in.Images, channels.Image(a))
	}
	switch {
	case body.Async:
		return s.answerAccepted(w, r, in)
	case strings.Contains(r.Header.Get("Accept"), "text/event-stream"):
		return s.streamAnswer(w, r, in)
	}
	return s.answerWhenDone(w, r, in)
}

// answerAccepted responds as soon as the message is durable.
func (s *Server) answerAccepted(w http.ResponseWriter, r *http.Request, in channels.Inbound) error {
	acc, err := s.backend.Receive(r.Context(), in)
	if err != nil {
		return err
	}
	w.Header().Set("Location", "/api/v1/inbox/"+acc.Event)
	s.writeJSON(w, http.StatusAccepted, Accepted{Event: acc.Event, Session: in.Session, Position: acc.Position, Repeated: acc.Repeated})
	return nil
}

// answerWhenDone waits for the turn. If the turn needs an approval first, answerWhenDone responds
// immediately, and the turn continues after the decision.
func (s *Server) answerWhenDone(w http.ResponseWriter, r *http.Request, in channels.Inbound) error {
	st, err := s.runTurn(r, in)
	if err != nil {
		return err
	}
	shown, err := s.recordDisplay(r, st)
	if err != nil {
		return err
	}
	watch := &watchedWriter{ResponseWriter: w}
	w = watch
	defer shown(watch)
	switch {
	case isFinal(st):
		s.writeJSON(w, http.StatusOK, api.Answered{Answer: st.Answer, Session: st.Session, Event: st.ID, Tools: st.Tools, Usage: st.Usage})
	default:
		w.Header().Set("Location", "/api/v1/inbox/"+st.ID)
		s.writeJSON(w, http.StatusAccepted, Waiting{Event: st.ID, Session: st.Session, Approvals: st.Approvals})
	}
	return nil
}

// runTurn passes a message to the engine and waits until its turn is complete or is waiting for the
// owner. For a dead message it returns an error that names the event.
func (s *Server) runTurn(r *http.Request, in channels.Inbound) (api.EventStatus, error) {
	ctx, cancel := withServerLifetime(r.Context())
	defer cancel()
	acc, err := s.backend.Receive(r.Context(), in)
	if err != nil {
		return api.EventStatus{}, err
	}
	st, err := s.backend.Wait(ctx, acc.Event)
	if err != nil {
		return st, s.waitEndError(r, acc.Event, err)
	}
	st = fillStatus(st)
	if st.State == "dead" {
		return st, turnFailure(st)
	}
	return st, nil
}

// waitEndError returns the error for a wait that ended before the turn.
func (s *Server) waitEndError(r *http.Request, event string, err error) error {
	if isClosing(r) {
		f := newFailure(http.StatusServiceUnavailable, "stopping", "read the answer in the conversation after the next start",
			"Hob is stopping; the message is stored and will be answered")
		f.Event = event
		return f
	}
	f := *failureOf(err)
	f.Event = event
	return &f
}

func turnFailure(st api.EventStatus) error {
	why := st.Error
	if why == "" {
		why = "too many failed attempts"
	}
	f := newFailure(http.StatusInternalServerError, "turn_failed", "see GET /api/v1/why?id="+st.ID, "the message could not be answered: %s", why)
	f.Event = st.ID
	return f
}

func isFinal(st api.EventStatus) bool { return st.State == "done" || st.State == "dead" }

// fillStatus sets the fields that the API guarantees.
func fillStatus(st api.EventStatus) api.EventStatus {
	if st.Tools == nil {
		st.Tools = []api.ToolUse{}
	}
	if len(st.Usage) == 0 {
		st.Usage = json.RawMessage("null")
	}
	return st
}

// eventStatus returns the status of a message.
func (s *Server) eventStatus(r *http.Request, _ call) (api.EventStatus, error) {
	st, err := s.backend.Event(r.Context(), r.PathValue("event"))
	return fillStatus(st), err
}
