package alexa

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"hob/channels"
)

// spokenQuestion is the last question spoken in a session. Until another request arrives, an
// approval in the session can answer only this question.
type spokenQuestion struct {
	item, question, event string
	shown                 time.Time
}

const maxSessions = 100

// questions holds the last question of each session.
type questions struct {
	mu   sync.Mutex
	open map[string]spokenQuestion
}

// setQuestion stores the question of a session; an empty question removes it.
func (s *questions) setQuestion(session string, a spokenQuestion) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.question == "" || session == "" {
		delete(s.open, session)
		return
	}
	if s.open == nil || len(s.open) >= maxSessions {
		s.open = map[string]spokenQuestion{}
	}
	s.open[session] = a
}

func (s *questions) openQuestion(session string) (spokenQuestion, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	a, ok := s.open[session]
	return a, ok
}

// sure is the minimum confidence of Alexa's voice recognition: 300 means a recognized voice, 400 a
// voice confirmed with a PIN ("Add Personalization to Your Alexa Skill", "Add PIN Confirmation to
// Alexa Skills").
const sure = 300

// hasOwnerVoice reports whether the speaker's voice is in Config.Voices.
func (c *Channel) hasOwnerVoice(q *request) bool {
	p := q.Context.System.Person
	return p.ID != "" && p.Sure.Level >= sure && slices.Contains(c.conf.Voices, p.ID)
}

// voiceClient returns the client id for the conversation in which a question was spoken.
func voiceClient(q *request) string { return Name + ":" + q.Session.ID }

// decideSpokenQuestion answers the last spoken question. Only a configured voice in a paired
// account may do that.
func (c *Channel) decideSpokenQuestion(ctx context.Context, q *request, a spokenQuestion, yes bool) response {
	if !c.hasOwnerVoice(q) {
		return speakAndListen(voiceless, elsewhere)
	}
	words, err := c.buttons.Press(ctx, channels.ButtonPress{
		Channel: Name, Sender: q.userID(), Chat: q.userID(), Question: a.question, Shown: a.shown, Yes: yes, Client: voiceClient(q),
	})
	switch {
	case errors.Is(err, channels.ErrQuick):
		return speakAndListen(again, again)
	case errors.Is(err, channels.ErrNotShown): // the question stays open and can be spoken again
		c.spoke.setQuestion(q.Session.ID, spokenQuestion{})
		return speakAndListen(askAgain, help)
	case errors.Is(err, channels.ErrNotOwner):
		return speakAndEnd(stranger)
	case err != nil:
		c.log.Warn("cannot answer a question", "error", err)
		words = unanswered
	}
	c.spoke.setQuestion(q.Session.ID, spokenQuestion{})
	c.dropQueuedText(a.item)
	if err == nil && a.event != "" {
		c.box.expectAnswer(q.userID(), a.event)
	}
	return speakAndListen(words, more)
}
