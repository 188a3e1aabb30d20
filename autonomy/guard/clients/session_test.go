package clients

import (
	"fmt"
	"testing"
)

// Ended conversations of agents are forgotten; a running turn and the last conversations are not.
func TestAttach_FreesEndedSessions(t *testing.T) {
	s := New(nil, nil)
	running, detach := s.Attach("running", Access{})
	defer detach()
	var last string
	for i := range 10 * maxIdleSessions {
		token, end := s.Attach(fmt.Sprint(i), Access{})
		last = token
		end()
	}
	if n := len(s.sessions); n > maxIdleSessions+2 {
		t.Errorf("the store keeps %d idle sessions", n)
	}
	if c, err := s.Authenticate(t.Context(), Session, running); err != nil || c.Name != "running" {
		t.Errorf("Authenticate() of the running turn = %+v, %v", c, err)
	}
	if again, end := s.Attach(fmt.Sprint(10*maxIdleSessions-1), Access{}); again != last {
		end()
		t.Error("the last conversation got a new token")
	}
}
